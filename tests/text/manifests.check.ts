import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* Facts that several files repeat. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
test("each job runs the pnpm version of the documentation", () => {
  const [, version] = /pnpm@([\d.]+)/.exec(read("CONTRIBUTING.md")) ?? [];
  const files = [".ci/run", "README.md", ...globSync(".github/workflows/*.yml", { cwd: root })];
  const named = files.flatMap((path) => [...read(path).matchAll(/pnpm@([\d.]+)/g)].map(([, found]) => found));
  expect(new Set(named)).toEqual(new Set([version]));
});

test("the workflow of the tests runs the packages on each Node that is promised", () => {
  const [, tested = ""] = /node: \[([\d, ]+)\]/.exec(read(".github/workflows/ci.yml")) ?? [];
  const [, lowest] = /^\| Node +\| (\d+)/m.exec(read("docs/supported-platforms.md")) ?? [];
  expect(tested.split(", ")[0]).toBe(lowest);
});

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* The address of the repository, and the version of pnpm, are the same everywhere. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = JSON.parse(read("package.json")).repository.url.replace(/^git\+|\.git$/g, "");

test.each(globSync("packages/*/README.md", { cwd: root }))(
  "the links of %s work on a registry, too",
  {
    tags: ["link"],
  },
  (path) => {
    const links = [...read(path).matchAll(/\]\(([^)\s]+)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !/^(https:\/\/|#)/.test(link))).toEqual([]);
  },
);

test.each([
  [".github/ISSUE_TEMPLATE/config.yml", "/security/advisories/new"],
  ["examples/worker/README.md", "/tree/main/examples/worker"],
])("%s links to the same repository", { tags: ["link"] }, (path, rest) => {
  expect(read(path)).toContain(page + rest);
});

test("each job runs the pnpm version of the documentation", () => {
  const [, version] = /pnpm@([\d.]+)/.exec(read("CONTRIBUTING.md")) ?? [];
  const files = [".ci/run", "README.md", ...globSync(".github/workflows/*.yml", { cwd: root })];
  const named = files.flatMap((path) => [...read(path).matchAll(/pnpm@([\d.]+)/g)].map(([, found]) => found));
  expect(new Set(named)).toEqual(new Set([version]));
});

test("the workflow of the tests runs the packages on each Node that is promised", () => {
  const [, tested = ""] = /node: \[([\d, ]+)\]/.exec(read(".github/workflows/ci.yml")) ?? [];
  const [, lowest] = /^\| Node +\| (\d+)/m.exec(read("docs/support.md")) ?? [];
  expect(tested.split(", ")[0]).toBe(lowest);
});

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../packages/worker-proxy/src");
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .sort();
const textOf = (name: string) => readFileSync(join(source, name), "utf8");
const isCore = (name: string) => !/^(?:auth|durable|media|notify|operator|push)\//.test(name);

/** The files of the package that each file imports, types included. */
const imports = new Map(
  files.map((name) => [
    name,
    [...textOf(name).matchAll(/\bfrom "(\.[^"]+)\.js"/g)].map(([, path = ""]) =>
      relative(source, join(source, name, "..", `${path}.ts`)),
    ),
  ]),
);

test("every import of the proxy leads to a file", () => {
  const named = [...imports.values()].flat();
  expect(named.length).toBeGreaterThan(files.length);
  expect(files).toEqual(expect.arrayContaining(named));
});

test("no file of the proxy imports itself over other files, types included", () => {
  expect(files.map(circleFrom).filter((circle) => circle !== undefined)).toEqual([]);
});

test("the core of the proxy imports nothing from /auth, /durable, /media, /notify, /operator and /push", () => {
  const wrong = [...imports].filter(([name, targets]) => isCore(name) && !targets.every(isCore));
  expect(wrong).toEqual([]);
});

test("the core imports no package: it has no dependency at run time", () => {
  const packages = files
    .filter(isCore)
    .flatMap((name) =>
      [...textOf(name).matchAll(/\bfrom "([^."][^"]*)"/g)].map(([, from]) => `${name}: ${from}`),
    )
    // bundled: the reader of events and of their errors that the client has too
    .filter((line) => !/: @sluice\/core\/(?:sse|internal)$/.test(line));
  expect(packages).toEqual([]);
});

/** The way from a file back to itself, if there is one. */
function circleFrom(start: string): readonly string[] | undefined {
  const seen = new Set<string>();
  const open: string[][] = [[start]];
  for (let way = open.pop(); way; way = open.pop())
    for (const next of imports.get(way.at(-1) ?? "") ?? []) {
      if (next === start) return [...way, start];
      if (seen.has(next)) continue;
      seen.add(next);
      open.push([...way, next]);
    }
  return undefined;
}

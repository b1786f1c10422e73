import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/* The folders of each package depend on one another in one direction. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const exclude = ["**/node_modules/**", "**/dist/**", "**/.*/**"];
const names = globSync("packages/*/package.json", { cwd: root }).map((path) => dirname(path));

test.each(names)("no folders of %s import each other in a cycle", (name) => {
  expect(findCycles(folderImports(name))).toEqual([]);
});

test.each([
  ["core", /^$/],
  ["stores", /^@sluice\/core/],
  ["react", /^@sluice\/(?:core|stores)/],
])("%s imports only the packages below it, and Node's modules in a folder for Node only", (name, below) => {
  const wrong = listFiles(`packages/${name}`).flatMap((file) =>
    listImports(file)
      .filter(
        (imported) =>
          (imported.startsWith("@sluice/") && !below.test(imported)) ||
          (imported.startsWith("node:") && !/\/node\//.test(file)),
      )
      .map((imported) => `${file}: ${imported}`),
  );
  expect(wrong).toEqual([]);
});

test.each([
  ["ky", "packages/core/src/transport/repeat.ts"],
  ["idb", "packages/stores/src/storage/indexed-db.ts"],
])("%s is imported by one file", (name, importer) => {
  const importers = names
    .flatMap((folder) => listFiles(folder))
    .filter((file) => listImports(file).includes(name));
  expect(importers).toEqual([importer]);
});

test("the durable half uses what one platform has in its hosts and buckets only", () => {
  const platform = /globalThis|"cloudflare:|"node:|FixedLengthStream|IdentityTransformStream/;
  const elsewhere = listFiles("packages/durable").filter(
    (file) => !/^packages\/durable\/src\/(?:host|buckets)\//.test(file),
  );
  expect(elsewhere.filter((file) => platform.test(readCode(file)))).toEqual([]);
});

test("no file takes the path of a URL for a path of the disk: a space and an umlaut differ there", () => {
  const wrong = globSync("{packages,labs,tests,scripts,docs,bench,examples}/**/*.{ts,tsx,js,mjs}", {
    cwd: root,
    exclude,
  }).filter((file) =>
    /import\.meta\.url\)?\.(?:pathname|slice|replace)/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(wrong).toEqual([]);
});

function listFiles(name: string): string[] {
  return globSync(`${name}/src/**/*.{ts,tsx}`, { cwd: root }).sort();
}

function readCode(file: string): string {
  return readFileSync(join(root, file), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

/** What a file imports, types included: paths from the root of the repository, and names of packages. */
function listImports(file: string): string[] {
  return [...readCode(file).matchAll(/\b(?:from|import) ?\(?"([\w@./:-]+)"/g)].map(([, name = ""]) =>
    name.startsWith(".") ? normalize(join(dirname(file), name)) : name,
  );
}

/** The other folders of the package that each of its folders imports. */
function folderImports(name: string): ReadonlyMap<string, ReadonlySet<string>> {
  const folders = new Map<string, Set<string>>();
  for (const file of listFiles(name)) {
    const folder = dirname(file);
    const others = listImports(file).filter((path) => path.startsWith(`${name}/src/`));
    const found = others.map((path) => dirname(path)).filter((other) => other !== folder);
    folders.set(folder, new Set([...(folders.get(folder) ?? []), ...found]));
  }
  return folders;
}

/** Sets of folders that reach each other, each as one line. */
function findCycles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = new Map([...imports.keys()].map((folder) => [folder, reachableFrom(folder)]));
  const cycles = [...reached].map(([folder, others]) =>
    [...others].filter((other) => reached.get(other)?.has(folder)).sort(),
  );
  return [...new Set(cycles.filter(({ length }) => length > 1).map((folders) => folders.join(" ↔ ")))];

  function reachableFrom(folder: string): ReadonlySet<string> {
    const found = new Set<string>();
    const open = [folder];
    for (let next = open.pop(); next !== undefined; next = open.pop())
      for (const other of imports.get(next) ?? [])
        if (!found.has(other)) {
          found.add(other);
          open.push(other);
        }
    return found;
  }
}

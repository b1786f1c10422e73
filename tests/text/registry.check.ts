import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* The README and the studio have the components of the registry. */

const root = join(import.meta.dirname, "../..");
const folder = join(root, "labs/registry");
const read = (path: string) => readFileSync(join(folder, path), "utf8");

interface Item {
  readonly name: string;
  readonly files: readonly { readonly path: string }[];
}
const { items } = JSON.parse(read("registry.json")) as { readonly items: readonly Item[] };

test.each(items)("The README lists the component $name", ({ name }) => {
  expect(readFileSync(join(folder, "README.md"), "utf8")).toContain(`\`${name}\``);
});

test("The studio is made of the components: it has no other ones of their kind", () => {
  const modules = items.flatMap(({ files }) => files.map(({ path }) => findModule(path)));
  const reached = new Set<string>();
  const visit = (text: string) => {
    for (const source of listImports(text)) {
      const [, name] = /(?:@|registry)\/components\/sluice\/([\w-]+)/.exec(source) ?? [];
      if (name === undefined || reached.has(name)) continue;
      reached.add(name);
      const [path] = globSync(`components/sluice/${name}.{ts,tsx}`, { cwd: folder });
      visit(read(path ?? ""));
    }
  };
  const studio = join(root, "examples/studio/src");
  for (const path of globSync("**/*.{ts,tsx}", { cwd: studio }))
    visit(readFileSync(join(studio, path), "utf8"));
  expect(modules.filter((name) => !reached.has(name))).toEqual([]);
});

const findModule = (path: string) => path.replace(/^.*\//, "").replace(/\.tsx?$/, "");

/** The sources of all imports of a module, as they are written. */
function listImports(text: string): readonly string[] {
  return [...text.matchAll(/(?:\bfrom |\bimport[ (])"([^"]+)"/g)].map(([, source = ""]) => source);
}

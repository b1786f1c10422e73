import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* Labs may change or disappear. Biome refuses an import of a lab in `packages`. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));
const labs: readonly string[] = globSync("labs/*/package.json", { cwd: root }).map((path) => read(path).name);

test.each(globSync("packages/*/package.json", { cwd: root }))("%s names no lab", (path) => {
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = read(path);
  const all = Object.keys({
    ...dependencies,
    ...devDependencies,
    ...peerDependencies,
    ...optionalDependencies,
  });
  expect(labs.length).toBeGreaterThan(0);
  expect(all.filter((name) => labs.includes(name))).toEqual([]);
});

test("Biome's rule has the name of each lab, and the labs' folder", () => {
  const { overrides } = read("biome.json");
  const { linter } = overrides.find(({ includes }: { includes: readonly string[] }) =>
    includes.includes("packages/**"),
  );
  const [{ group }] = linter.rules.style.noRestrictedImports.options.patterns;
  expect(group).toEqual(expect.arrayContaining([...labs, "**/labs/**"]));
});

// @vitest-environment node
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

/* The list of components that shadcn's command reads. `apps.nightly.test.ts` installs them. */

const folder = join(import.meta.dirname, "..");
const command = join(folder, "node_modules/shadcn/dist/index.js");
const HOME = "@/components/sluice/";

interface Item {
  readonly name: string;
  readonly dependencies?: readonly string[];
  readonly registryDependencies?: readonly string[];
  readonly files: readonly { readonly path: string; readonly target: string }[];
}

const read = (path: string) => readFileSync(join(folder, path), "utf8");
const { items } = JSON.parse(read("registry.json")) as { readonly items: readonly Item[] };
const findModule = (path: string) => path.replace(/^.*\//, "").replace(/\.tsx?$/, "");
const owners = new Map(items.flatMap(({ name, files }) => files.map(({ path }) => [findModule(path), name])));

/** The sources of all imports of a module, as they are written. */
function listImports(text: string): readonly string[] {
  return [...text.matchAll(/(?:\bfrom |\bimport[ (])"([^"]+)"/g)].map(([, source = ""]) => source);
}

const findPackage = (source: string) =>
  source
    .split("/")
    .slice(0, source.startsWith("@") ? 2 : 1)
    .join("/");

describe.each(items)(
  "the component $name",
  ({ name, dependencies = [], registryDependencies = [], files }) => {
    const imports = files.flatMap(({ path }) => listImports(read(path)));

    test("The list names exactly the packages that the files import", () => {
      const packages = imports
        .filter((source) => !source.startsWith("@/"))
        .map(findPackage)
        // each app that takes it has them
        .filter((source) => source !== "react" && source !== "react-dom");
      const others = imports
        .filter((source) => source.startsWith(HOME))
        .map((source) => owners.get(source.slice(HOME.length)))
        .filter((owner) => owner !== name);
      expect([...dependencies]).toEqual([...new Set(packages)].sort());
      expect([...registryDependencies]).toEqual([...new Set(others)].map((one) => `@sluice/${one}`).sort());
    });

    test("The files are installed where other files import them from", () => {
      for (const { path, target } of files)
        expect(target).toBe(`@components/sluice/${path.split("/").at(-1)}`);
    });
  },
);

test("Each file of the components is in the list", () => {
  const listed = items.flatMap(({ files }) => files.map(({ path }) => path));
  expect(listed.sort()).toEqual(globSync("components/sluice/*", { cwd: folder }).sort());
});

test("The command of shadcn takes the list, and writes a file for each component", () => {
  const built = mkdtempSync(join(tmpdir(), "sluice-registry-"));
  onTestFinished(() => rmSync(built, { recursive: true }));
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, [command, ...args], { stdio: "pipe" });
  // it exits with 1 where something is wrong
  run("registry", "validate", join(folder, "registry.json"), "--cwd", folder);
  run("build", "--cwd", folder, "--output", built);
  expect(readdirSync(built).sort()).toEqual(
    [...items.map(({ name }) => `${name}.json`), "registry.json"].sort(),
  );
  for (const { name, files } of items) {
    const item = JSON.parse(readFileSync(join(built, `${name}.json`), "utf8"));
    expect(item.files.map(({ content }: { content: string }) => content)).toEqual(
      files.map(({ path }) => read(path)),
    );
  }
});

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readMarkdownExamples } from "./examples.ts";
import { imaginedFiles } from "./imagined.ts";
import { createTemporaryFolder } from "./temporary.ts";

const root = `${import.meta.dirname}/../../`;

/**
 * Writes the code blocks of a page that have a file name, and the files that it includes, as its reader would. Returns a
 * function that imports one of them. `more` has the files that the page leaves to its reader.
 */
export function writeFilesOfPage(page: string, more: Readonly<Record<string, string>> = {}) {
  const folder = createTemporaryFolder(page.replace(/\W+/g, "-"));
  const shown = readMarkdownExamples(root, page).flatMap(({ file, code }) =>
    file ? [[file, code] as const] : [],
  );
  const all = [...readIncludedFiles(page), ...shown];
  const folders = new Set(all.map(([file]) => dirname(file)));
  const imagined = [...folders].flatMap((path) =>
    Object.entries(imaginedFiles).map(([file, code]) => [join(path, file), code] as const),
  );
  const files = new Map([...imagined, ...Object.entries(more), ...all]);
  for (const [file, code] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), code);
  }
  return async <Module>(file: string): Promise<Module> => {
    if (!files.has(file)) throw new Error(`${page} has no block with the name ${file}`);
    return await import(/* @vite-ignore */ join(folder, file));
  };
}

/** Reads the TypeScript that a page includes, by its path in the folder of the example. */
function readIncludedFiles(page: string): (readonly [file: string, code: string])[] {
  const text = readFileSync(root + page, "utf8");
  return [...text.matchAll(/^<<< (\S+\/(?:examples\/[^/]+|server)\/(\S+\.tsx?))/gm)].map(
    ([, path = "", file = ""]) => [file, readFileSync(join(root, dirname(page), path), "utf8")],
  );
}

/** Copies a folder of `docs/examples`, and returns a function that imports one of its files. */
export function writeFilesOfExample(name: string) {
  const folder = createTemporaryFolder(`docs-example-${name}`);
  cpSync(join(root, "docs/examples", name), folder, { recursive: true });
  return async <Module>(file: string): Promise<Module> => await import(/* @vite-ignore */ join(folder, file));
}

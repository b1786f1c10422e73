import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readMarkdownExamples } from "./examples.ts";
import { imaginedFiles } from "./imagined.ts";
import { createTemporaryFolder } from "./temporary.ts";

const root = `${import.meta.dirname}/../../`;

/**
 * Writes the code blocks of a page that have a file name, as its reader would, and returns a function that imports one of
 * them. `more` has the files that the page leaves to its reader.
 */
export function writeFilesOfPage(page: string, more: Readonly<Record<string, string>> = {}) {
  const folder = createTemporaryFolder(page.replace(/\W+/g, "-"));
  const shown = readMarkdownExamples(root, page).flatMap(({ file, code }) =>
    file ? [[file, code] as const] : [],
  );
  const folders = new Set(shown.map(([file]) => dirname(file)));
  const imagined = [...folders].flatMap((place) =>
    Object.entries(imaginedFiles).map(([file, code]) => [join(place, file), code] as const),
  );
  const files = new Map([...imagined, ...Object.entries(more), ...shown]);
  for (const [file, code] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), code);
  }
  return async <Module>(file: string): Promise<Module> => {
    if (!files.has(file)) throw new Error(`${page} has no block with the name ${file}`);
    return await import(/* @vite-ignore */ join(folder, file));
  };
}

/** Copies a folder of `docs/examples`, and returns a function that imports one of its files. */
export function writeFilesOfExample(name: string) {
  const folder = createTemporaryFolder(`docs-example-${name}`);
  cpSync(join(root, "docs/examples", name), folder, { recursive: true });
  return async <Module>(file: string): Promise<Module> => await import(/* @vite-ignore */ join(folder, file));
}

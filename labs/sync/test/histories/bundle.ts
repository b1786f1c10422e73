import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { aliases } from "../../../../scripts/sources.ts";

const root = join(import.meta.dirname, "../../../..");

/** Replaces a text of a source file, which must be there once. */
export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Builds the histories with the sources of all packages into one file, and loads it: later changes of the sources do not
 * reach it.
 *
 * @throws {Error} for an edit whose text is not in its file once, or whose file is not used
 */
export async function loadHistories(edits: readonly Edit[] = []): Promise<typeof import("./play.js")> {
  const unused = new Set(edits.map(({ file }) => file));
  // the packages that stay outside of the file are installed there
  const folder = mkdtempSync(join(root, "packages/durable/node_modules/.histories-"));
  try {
    await build({
      configFile: false,
      root,
      logLevel: "error",
      plugins: [{ name: "edit", enforce: "pre", transform: (_, id) => editSource(id) }],
      resolve: { alias: [...aliases] },
      ssr: { noExternal: true, external: ["pg"] },
      build: {
        ssr: join(import.meta.dirname, "play.ts"),
        outDir: folder,
        minify: false,
        target: "node24",
        rolldownOptions: { output: { entryFileNames: "play.mjs", codeSplitting: false } },
      },
    });
    const [file] = unused;
    if (file) throw new Error(`the histories do not use ${file}`);
    return await import(/* @vite-ignore */ pathToFileURL(join(folder, "play.mjs")).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }

  function editSource(id: string): string | undefined {
    const file = relative(root, id);
    const own = edits.filter((edit) => edit.file === file);
    if (own.length === 0) return undefined;
    unused.delete(file);
    let text = readFileSync(id, "utf8");
    for (const { from, to } of own) {
      if (text.split(from).length !== 2) throw new Error(`${file} does not have this once:\n${from}`);
      text = text.replace(from, () => to);
    }
    return text;
  }
}

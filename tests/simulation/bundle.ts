import { mkdtempSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { entries } from "../support/entries.ts";

/** A change of one source file: `find` is replaced where it stands, once. */
export interface SourceChange {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const root = join(import.meta.dirname, "../..");

/**
 * Builds the simulation with all packages into one file, and loads it. In one file, parts that are loaded on demand are
 * there at once: nothing waits for the file system, and time passes in the world alone.
 *
 * @param changes changes of the sources, which stay as they are on the disk
 * @throws {Error} when a text to replace is not in its file exactly once
 */
export async function loadSimulation(
  changes: readonly SourceChange[] = [],
): Promise<typeof import("./index.js")> {
  const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.simulation-"));
  try {
    const missing = new Set(changes);
    await build({
      configFile: false,
      root,
      logLevel: "error",
      plugins: [
        { name: "change-sources", enforce: "pre", transform: (code, id) => changed(code, id, missing) },
      ],
      resolve: { alias: aliases() },
      ssr: { noExternal: true },
      build: {
        ssr: join(import.meta.dirname, "index.ts"),
        outDir: folder,
        minify: false,
        target: "node24",
        rolldownOptions: { output: { entryFileNames: "simulation.mjs", codeSplitting: false } },
      },
    });
    const [unused] = missing;
    if (unused) throw new Error(`${unused.file}: the text to replace was not found, or the file is not used`);
    return await import(/* @vite-ignore */ pathToFileURL(join(folder, "simulation.mjs")).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }

  function changed(code: string, id: string, missing: Set<SourceChange>): string | undefined {
    let text = code;
    for (const change of changes) {
      if (relative(root, id) !== change.file) continue;
      if (text.split(change.find).length !== 2)
        throw new Error(`${change.file}: the text to replace has to be there once: ${change.find}`);
      text = text.replace(change.find, () => change.replace);
      missing.delete(change);
    }
    return text === code ? undefined : text;
  }
}

function aliases() {
  const packages = join(root, "packages");
  return Object.entries({ ...entries, "@sluice/core/internal": "core/src/internal.ts" })
    .sort(([a], [b]) => b.length - a.length)
    .map(([find, path]) => ({ find: new RegExp(`^${find}$`), replacement: join(packages, path) }));
}

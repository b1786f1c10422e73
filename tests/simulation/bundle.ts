import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { Window } from "happy-dom";
import { build, type InlineConfig } from "vite";
import { aliases as sourceAliases } from "../../scripts/sources.ts";
import type { Plan } from "./plan.js";
import type { TreeCode } from "./tree-code.js";

/** Other texts of source files, by their path from the root of the repository. */
export type Sources = ReadonlyMap<string, string>;

/** A plan with one reply, which runs before all others. */
const firstPlan: Plan = {
  seed: 0,
  tabs: 1,
  locks: "sound",
  whenBusy: "queue",
  proxy: "stored",
  view: "stores",
  budget: 1_000_000,
  steps: [{ afterMs: 0, do: "send", tab: 0, nth: 0 }],
};
const root = join(import.meta.dirname, "../..");

/**
 * Builds the simulation with all packages into one file, and loads it. In one file, lazy imports load at once: nothing
 * waits for the file system, and only the simulation advances time. The React tree of a tab is a second file, which runs
 * for each tab: tabs share no module, as in a browser.
 *
 * @param sources texts that replace those on the disk
 * @throws {Error} when the simulation does not use one of these files
 */
export async function loadSimulation(sources: Sources = new Map()): Promise<typeof import("./index.js")> {
  return loadBuilt<typeof import("./index.js")>(sources, "index.ts", async (built, folder) => {
    built.loadTrees(readTreeCode(readFileSync(join(folder, "tree.js"), "utf8")));
    // modules create some values once, such as the origin of ids: a first run creates them before all simulations
    await built.simulate(firstPlan);
  });
}

/** Builds the simulations of uploads, and loads them. */
export async function loadUploads(
  sources: Sources = new Map(),
): Promise<typeof import("./upload-simulation.js")> {
  return loadBuilt<typeof import("./upload-simulation.js")>(sources, "upload-simulation.ts");
}

/** Builds an entry, and loads it. `prepare` is called before its files are removed, for an entry with trees. */
async function loadBuilt<Built>(
  sources: Sources,
  entry: string,
  prepare?: (built: Built, folder: string) => Promise<void>,
): Promise<Built> {
  const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.simulation-"));
  try {
    const unused = new Set(sources.keys());
    await build(createConfig(entry, { entryFileNames: "simulation.mjs" }));
    if (entry === "index.ts")
      await build(
        createConfig("tree.tsx", {
          entryFileNames: "tree.js",
          format: "iife",
          name: "tree",
          globals: { "node:fs/promises": "undefined" },
        }),
      );
    const [file] = unused;
    if (file) throw new Error(`the simulation does not use ${file}`);
    const built: Built = await import(/* @vite-ignore */ pathToFileURL(join(folder, "simulation.mjs")).href);
    await prepare?.(built, folder);
    return built;

    function createConfig(entry: string, output: object): InlineConfig {
      return {
        configFile: false,
        root,
        logLevel: "error",
        plugins: [{ name: "replace-sources", enforce: "pre", transform: (_, id) => readSource(id, unused) }],
        // React with its checks, and StrictMode
        define: { "process.env.NODE_ENV": '"development"' },
        resolve: { alias: createAliases() },
        ssr: { noExternal: true },
        build: {
          ssr: join(import.meta.dirname, entry),
          outDir: folder,
          emptyOutDir: false,
          minify: false,
          target: "node24",
          rolldownOptions: { output: { ...output, codeSplitting: false } },
        },
      };
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }

  function readSource(id: string, unused: Set<string>): string | undefined {
    const file = relative(root, id);
    unused.delete(file);
    return sources.get(file);
  }
}

/** Compiles the code of a tree once. Each call runs the code again, with a separate window and document. */
function readTreeCode(code: string): TreeCode {
  const { window } = new Window();
  const run = new Script(`(function (window, document, console, performance) { ${code}\nreturn tree; })`, {
    filename: "tree.js",
  }).runInThisContext();
  return ({ logError, now }) => {
    const document = window.document.implementation.createHTMLDocument();
    return { ...run(window, document, { ...console, error: logError }, { now }), container: document.body };
  };
}

function createAliases() {
  return [...sourceAliases, { find: /^scheduler$/, replacement: join(import.meta.dirname, "scheduler.ts") }];
}

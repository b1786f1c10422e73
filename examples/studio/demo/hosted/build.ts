import { globSync } from "node:fs";
import { join } from "node:path";
import { build, type Rollup } from "vite";

const studio = join(import.meta.dirname, "../..");

/**
 * Builds the hosted studio: the page, for any path of any host, and a Service Worker with the proxy and the emulator.
 *
 * @param outDir folder of the files, which is emptied first
 * @param docs address of the docs, seen from the page. @default that of the repository
 */
export async function buildHostedStudio(outDir: string, docs = ""): Promise<void> {
  const page = {
    root: studio,
    mode: "hosted",
    logLevel: "error",
    define: { "import.meta.env.VITE_DOCS": JSON.stringify(docs) },
    build: { outDir, emptyOutDir: true },
  } as const;
  const built = (await build(page)) as Rollup.RollupOutput;
  await buildScript("gateway", outDir);
  await buildScript("service-worker", outDir, {
    FILES: JSON.stringify(["", ...listFiles(outDir)]),
    CORE: JSON.stringify(["", ...listCoreFiles(built)]),
  });
}

/** Builds a script that is one file: a Service Worker loads no modules later. */
async function buildScript(name: string, outDir: string, define: Record<string, string> = {}): Promise<void> {
  await build({
    configFile: false,
    root: studio,
    publicDir: false,
    logLevel: "error",
    define,
    build: {
      outDir,
      emptyOutDir: false,
      lib: {
        entry: join(import.meta.dirname, `${name}.ts`),
        formats: ["iife"],
        name: "studio",
        fileName: () => `${name}.js`,
      },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
}

function listFiles(outDir: string): readonly string[] {
  const all = globSync("**/*.*", { cwd: outDir }).map((path) => path.replaceAll("\\", "/"));
  return all.filter((path) => path !== "index.html");
}

/** Files that the page may load. The Service Worker caches grammars, which the worker of the highlighter loads, on use. */
function listCoreFiles({ output }: Rollup.RollupOutput): readonly string[] {
  const chunks = new Map(
    output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])),
  );
  const core = new Set(["boot.js", "favicon.svg"]);
  const page = output.find(({ fileName }) => fileName === "index.html");
  const html = page?.type === "asset" ? String(page.source) : "";
  for (const name of chunks.keys()) if (html.includes(name)) add(name);
  for (const { fileName } of output)
    if (/\.css$|highlight-worker|latin-wght|\.webp$/.test(fileName)) core.add(fileName);
  return [...core];

  function add(name: string): void {
    if (core.has(name)) return;
    core.add(name);
    const chunk = chunks.get(name);
    for (const imported of [...(chunk?.imports ?? []), ...(chunk?.dynamicImports ?? [])]) add(imported);
  }
}

if (import.meta.main) await buildHostedStudio(join(import.meta.dirname, "dist"));

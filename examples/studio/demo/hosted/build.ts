import { createHash } from "node:crypto";
import { copyFileSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build, type InlineConfig, type Plugin, type Rollup } from "vite";

const studio = join(import.meta.dirname, "../..");

/**
 * Builds the hosted studio: the page, for any path of any host, and a Service Worker with the studio's Worker and the
 * emulator.
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
  const sqlite = copySQLite(outDir);
  const define = { SQLITE: JSON.stringify(sqlite) };
  await buildScript("gateway", outDir, { define, plugins: [withoutOtherFiles()] });
  const files = {
    FILES: JSON.stringify(["", ...filesIn(outDir)]),
    CORE: JSON.stringify(["", sqlite, ...coreOf(built)]),
  };
  await buildScript("service-worker", outDir, { define: files });
}

/** Copies SQLite under a name that changes with it, and returns its path. */
function copySQLite(outDir: string): string {
  const wasm = createRequire(import.meta.url).resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm");
  const hash = createHash("sha256").update(readFileSync(wasm)).digest("hex").slice(0, 8);
  const path = `assets/sqlite3-${hash}.wasm`;
  copyFileSync(wasm, join(outDir, path));
  return path;
}

/** Builds a script that is one file: a Service Worker loads no modules later. */
async function buildScript(name: string, outDir: string, config: InlineConfig): Promise<void> {
  await build({
    configFile: false,
    root: studio,
    publicDir: false,
    logLevel: "error",
    ...config,
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

/** Takes the addresses of files out of SQLite's script that only its own workers would load. */
function withoutOtherFiles(): Plugin {
  return {
    name: "without-other-files",
    transform: (code, id) =>
      id.includes("sqlite-wasm")
        ? code
            .replace(/new URL\("[\w.-]+", import\.meta\.url\)(?:\.href)?/g, '""')
            .replaceAll("import.meta.url", '""')
        : null,
  };
}

function filesIn(outDir: string): readonly string[] {
  const all = globSync("**/*.*", { cwd: outDir }).map((path) => path.replaceAll("\\", "/"));
  return all.filter((path) => path !== "index.html");
}

/**
 * Files that the page may load: grammars and diagrams are loaded elsewhere, and are kept as they are used, as is the reader
 * of PDFs, which few visitors need.
 */
function coreOf({ output }: Rollup.RollupOutput): readonly string[] {
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
    if (core.has(name) || name.startsWith("assets/pdf-")) return;
    core.add(name);
    const chunk = chunks.get(name);
    for (const imported of [...(chunk?.imports ?? []), ...(chunk?.dynamicImports ?? [])]) add(imported);
  }
}

if (import.meta.main) await buildHostedStudio(join(import.meta.dirname, "dist"));

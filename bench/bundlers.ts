import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Rollup } from "vite";

/* Programs built as apps build them, by six bundlers, with the peers' packages at hand. */

const folder = fileURLToPath(new URL("./peers/", import.meta.url));
const { resolve: resolvePeer } = createRequire(join(folder, "package.json"));

/** A file that a bundler has made. */
export interface BuiltFile {
  readonly code: string | Uint8Array;
  readonly isEntry: boolean;
  /** Names of the files that the page loads at once, and of lazy files. */
  readonly imports: readonly string[];
  readonly later: readonly string[];
}

/** The files of a program by their names: their paths below the address of a page. */
export type Built = ReadonlyMap<string, BuiltFile>;

/** Bundles the source of a program for browsers, minified, without React. */
export type Bundler = (source: string) => Promise<Built>;

/** Packages that a program does without. xsai imports some where an app has them. */
function listExternals(source: string): string[] {
  const absent = source.includes('"xsai"') ? ["effect", "sury", "@valibot/to-json-schema"] : [];
  return ["react", "react-dom", ...absent];
}

async function byVite(source: string): Promise<Built> {
  const program = join(folder, "program.js");
  const external = new RegExp(`^(${listExternals(source).join("|")})($|/)`);
  const made = await build({
    root: folder,
    configFile: false,
    logLevel: "silent",
    build: { write: false, modulePreload: { polyfill: false }, rollupOptions: { input: program, external } },
    plugins: [
      {
        name: "program",
        resolveId: (id) => (id === program ? id : undefined),
        load: (id) => (id === program ? source : undefined),
      },
    ],
  });
  const chunks = (made as Rollup.RollupOutput).output.filter((file) => file.type === "chunk");
  return new Map(
    chunks.map(({ fileName, code, isEntry, imports, dynamicImports: later }) => [
      fileName,
      { code, isEntry, imports, later },
    ]),
  );
}

interface Output {
  readonly entryPoint?: string;
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

async function byEsbuild(source: string): Promise<Built> {
  const out = mkdtempSync(join(tmpdir(), "bench-"));
  const flags = [
    ...["bundle", "minify", "splitting", "format=esm", "platform=browser", "log-level=error"],
    ...listExternals(source).map((name) => `external:${name}`),
    ...[`outdir=${out}`, `metafile=${out}/meta.json`, "entry-names=entry"],
  ].map((flag) => `--${flag}`);
  const args = [...flags, '--define:process.env.NODE_ENV="production"'];
  execFileSync(`${folder}node_modules/.bin/esbuild`, args, { cwd: folder, input: source });
  const { outputs } = JSON.parse(readFileSync(`${out}/meta.json`, "utf8")) as {
    outputs: Record<string, Output>;
  };
  const readFileName = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  const files = Object.entries(outputs).map(([path, { entryPoint, imports }]): [string, BuiltFile] => {
    const listFileNames = (isLater: boolean) =>
      imports
        .filter(({ kind, external }) => !external && (kind !== "import-statement") === isLater)
        .map((other) => readFileName(other.path));
    const code = readFileSync(join(folder, path));
    const isEntry = entryPoint === "<stdin>";
    return [readFileName(path), { code, isEntry, imports: listFileNames(false), later: listFileNames(true) }];
  });
  rmSync(out, { recursive: true });
  return new Map(files);
}

/** The part of Rspack and webpack that is used: their types are not installed with the repository. */
type Pack = (
  options: object,
  done: (error: Error | null, stats?: { hasErrors(): boolean; toString(options: object): string }) => void,
) => { close(done: () => void): void };

async function byPack(source: string, pack: Pack): Promise<Built> {
  const external = (name: string) => [`${name}`, new RegExp(`^${name}/`)];
  return await inFolders(source, async (program, out) => {
    await new Promise<void>((resolve, reject) => {
      const compiler = pack(
        {
          mode: "production",
          target: ["web", "es2022"],
          context: folder,
          entry: { entry: program },
          externals: listExternals(source).flatMap(external),
          externalsType: "module",
          experiments: { outputModule: true },
          output: { path: out, filename: "[name].js", publicPath: "/", module: true, chunkFormat: "module" },
          performance: { hints: false },
        },
        (error, stats) => {
          compiler.close(() => {});
          if (error ?? stats?.hasErrors())
            reject(error ?? new Error(stats?.toString({ all: false, errors: true })));
          else resolve();
        },
      );
    });
  });
}

async function byRspack(source: string): Promise<Built> {
  const { rspack } = (await import(resolvePeer("@rspack/core"))) as { rspack: Pack };
  return await byPack(source, rspack);
}

async function byWebpack(source: string): Promise<Built> {
  const { default: webpack } = (await import(resolvePeer("webpack"))) as { default: Pack };
  return await byPack(source, webpack);
}

async function byBun(source: string): Promise<Built> {
  const bun = join(resolvePeer("bun/package.json"), "../bin/bun.exe");
  const flags = ["--minify", "--splitting", "--format=esm", "--target=browser", "--production"];
  const externals = listExternals(source).flatMap((name) => [`--external=${name}`, `--external=${name}/*`]);
  return await inFolders(source, (program, out) => {
    const names = ["--entry-naming=entry.js", `--outdir=${out}`];
    execFileSync(bun, ["build", program, ...flags, ...externals, ...names], { cwd: folder, stdio: "pipe" });
  });
}

async function byRollup(source: string): Promise<Built> {
  const { rollup } = (await import(resolvePeer("rollup"))) as {
    rollup(options: object): Promise<{ write(to: object): Promise<unknown> }>;
  };
  const { nodeResolve } = (await import(
    resolvePeer("@rollup/plugin-node-resolve")
  )) as Plugins<"nodeResolve">;
  const { default: replace } = (await import(resolvePeer("@rollup/plugin-replace"))) as Plugins<"default">;
  const { default: terser } = (await import(resolvePeer("@rollup/plugin-terser"))) as Plugins<"default">;
  return await inFolders(source, async (program, out) => {
    const bundle = await rollup({
      input: { entry: program },
      external: new RegExp(`^(${listExternals(source).join("|")})($|/)`),
      plugins: [
        nodeResolve({ browser: true }),
        replace({ "process.env.NODE_ENV": '"production"', preventAssignment: true }),
        terser({}),
      ],
      onwarn() {},
    });
    await bundle.write({ dir: out, format: "es", entryFileNames: "[name].js", chunkFileNames: "[hash].js" });
  });
}

type Plugins<Name extends string> = Record<Name, (options: object) => unknown>;

/** Bundles the program of a file into a folder. Reads the bundled files and their static imports from the folder. */
async function inFolders(source: string, bundle: (program: string, out: string) => unknown): Promise<Built> {
  const out = mkdtempSync(join(tmpdir(), "bench-"));
  const program = join(folder, "program.mjs");
  writeFileSync(program, source);
  try {
    await bundle(program, out);
    const names = readdirSync(out).filter((name) => name.endsWith(".js"));
    return new Map(
      names.map((name) => {
        const code = readFileSync(join(out, name));
        const isEntry = name === "entry.js";
        const imports = names.filter((other) => isImported(code.toString(), other));
        // webpack and Rspack name what comes later by numbers
        return [name, { code, isEntry, imports, later: isEntry ? names : [] }];
      }),
    );
  } finally {
    rmSync(out, { recursive: true });
    rmSync(program);
  }
}

/** True where a file imports another one when it is loaded. */
function isImported(code: string, name: string): boolean {
  return ["from", "import"].some((word) =>
    ['"', "'"].some((quote) =>
      ["", " "].some((space) => code.includes(`${word}${space}${quote}./${name}${quote}`)),
    ),
  );
}

/** The bundlers that are compared. */
export const bundlers: Readonly<
  Record<"Vite" | "Rollup" | "esbuild" | "webpack" | "Rspack" | "Bun", Bundler>
> = {
  Vite: byVite,
  Rollup: byRollup,
  esbuild: byEsbuild,
  webpack: byWebpack,
  Rspack: byRspack,
  Bun: byBun,
};

/** The files of React, shared by all programs, with the import map that leads to them. */
export async function reactFiles(): Promise<{ map: object; files: ReadonlyMap<string, string> }> {
  const names = ["react", "react/jsx-runtime", "react-dom", "react-dom/client"];
  const createFileName = (name: string) => `react-files/${name.replace("/", "-")}.js`;
  const out = mkdtempSync(join(tmpdir(), "bench-"));
  const require = createRequire(join(folder, "package.json"));
  for (const name of names) {
    const exported = Object.keys(require(name)).filter((key) => key !== "default");
    const source = `import all from ${JSON.stringify(name)}; export default all; export const { ${exported.join(", ")} } = all;`;
    writeFileSync(join(out, `${name.replace("/", "-")}.mjs`), source);
  }
  const entries = names.map((name) => join(out, `${name.replace("/", "-")}.mjs`));
  const flags = ["bundle", "minify", "splitting", "format=esm", `outdir=${out}/built`, "log-level=error"];
  const args = [
    ...flags.map((flag) => `--${flag}`),
    '--define:process.env.NODE_ENV="production"',
    ...entries,
  ];
  const env = { ...process.env, NODE_PATH: `${folder}node_modules` };
  execFileSync(`${folder}node_modules/.bin/esbuild`, args, { cwd: folder, env });
  const files = readdirSync(`${out}/built`).map(
    (name) => [`react-files/${name}`, readFileSync(`${out}/built/${name}`, "utf8")] as const,
  );
  rmSync(out, { recursive: true });
  return {
    map: { imports: Object.fromEntries(names.map((name) => [name, `/${createFileName(name)}`])) },
    files: new Map(files),
  };
}

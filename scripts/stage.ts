import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { minify_sync } from "terser";
import { readDeclarations } from "./declarations.ts";

/*
 * Copies the files of the built package in this folder to the `directory` of its `publishConfig`: `node
 * ../../scripts/stage.ts`. `pnpm pack` and `pnpm publish` run it as `prepack`.
 */

interface Manifest {
  readonly files: readonly string[];
  readonly exports?: unknown;
  readonly bin?: unknown;
  readonly publishConfig: { readonly directory: string };
}

const root = join(import.meta.dirname, "..");

/** Copies the files that users need. Returns their folder. Several processes may run it at once. */
export function stagePackage(folder: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { publishConfig, ...published } = manifest;
  const staged = join(folder, publishConfig.directory);
  const texts = new Map([
    ["package.json", `${JSON.stringify(published, undefined, 2)}\n`],
    ...readDeclarations(folder),
  ]);
  const modules = findModules(folder, manifest);
  const copies = listFiles(join(folder, "dist")).flatMap((path) => {
    const file = join("dist", path);
    const isBuilt = existsSync(join(folder, "src", dirname(path)));
    if (/\.(?:tsbuildinfo|map)$/.test(path) || texts.has(file)) return [];
    if (!isBuilt || !/\.(?:d\.ts|js)$/.test(path)) return [file];
    if (modules.has(file)) texts.set(file, shorten(readFileSync(join(folder, file), "utf8")));
    return [];
  });
  const named = manifest.files.filter((path) => path !== "dist" && !path.startsWith("!"));
  const pages = globSync(["README.md", "CHANGELOG.md", ...named], { cwd: folder });
  for (const [path, text] of texts)
    write(join(staged, path), Buffer.from(text), statSync(join(folder, path)).mode);
  for (const path of [...copies, ...pages]) copy(join(folder, path), join(staged, path));
  copy(join(root, "LICENSE"), join(staged, "LICENSE"));
  const expected = new Set(["LICENSE", ...texts.keys(), ...copies, ...pages]);
  for (const path of listFiles(staged)) if (!expected.has(path)) rmSync(join(staged, path), { force: true });
  return staged;
}

/** Finds the modules that an entry or a command of the package loads, by their paths in the package. */
function findModules(folder: string, { exports, bin }: Manifest): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (path: string) => {
    const name = relative(folder, path);
    if (found.has(name) || !path.endsWith(".js") || !existsSync(path)) return;
    found.add(name);
    // any string with the path of a module: `import`, `import()`, `new URL`
    for (const [, imported = ""] of readFileSync(path, "utf8").matchAll(/["'`](\.{1,2}\/[^"'`\s]+)["'`]/g))
      visit(join(dirname(path), imported));
  };
  for (const path of [exports, bin].flatMap(findTexts)) visit(join(folder, path));
  return found;
}

/** Returns a module without blanks, and with short local names. Functions keep their names in the stack of an error. */
function shorten(module: string): string {
  const reexports = joinReexports(module);
  if (reexports !== undefined) return reexports;
  const keepNames = { keep_fnames: true, keep_classnames: true };
  // terser would move the annotation of a returned call before `return`, where Rollup warns about it
  const { code = "" } = minify_sync(module.replaceAll("return /* @__PURE__ */ ", "return "), {
    module: true,
    ...keepNames,
    mangle: { toplevel: false, ...keepNames },
    format: { comments: /@__NO_SIDE_EFFECTS__/, max_line_len: 500, preserve_annotations: true },
  });
  return code;
}

const IMPORT = /import\s*\{([^}]*)\}\s*from\s*("[^"]+");\s*/g;
const EXPORT = /export\s*\{([^}]*)\};\s*/g;

/** Joins the imports and exports of a module that only re-exports. Returns undefined for any other module. */
function joinReexports(module: string): string | undefined {
  if (module.replace(IMPORT, "").replace(EXPORT, "").trim() !== "") return undefined;
  const split = (list = "") => list.split(",").flatMap((name) => name.trim() || []);
  const exported = new Map<string, string[]>();
  for (const [, list] of module.matchAll(EXPORT))
    for (const name of split(list)) {
      const [local = "", outer = local] = name.split(" as ");
      exported.set(local, [...(exported.get(local) ?? []), outer]);
    }
  const lines = [...module.matchAll(IMPORT)].map(([, list, from]) => {
    const names = split(list).flatMap((name) => {
      const [outer = "", local = outer] = name.split(" as ");
      return (exported.get(local) ?? []).map((alias) => (alias === outer ? outer : `${outer} as ${alias}`));
    });
    return names.length > 0 ? `export{${names}}from${from};` : `import${from};`;
  });
  return `${lines.join("\n")}\n`;
}

function findTexts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(findTexts) : [];
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

function copy(from: string, to: string): void {
  write(to, readFileSync(from), statSync(from).mode);
}

/** Writes a file atomically, unless it has this content. */
function write(path: string, content: Buffer, mode: number): void {
  if (existsSync(path) && readFileSync(path).equals(content)) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, content, { mode });
  renameSync(`${path}.${process.pid}`, path);
}

if (import.meta.main) stagePackage(process.cwd());

import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { stagePackage } from "./stage.ts";

/*
 * Writes the packed packages for JSR into one Deno workspace, each with a `deno.json` made from its `package.json`:
 * `node scripts/jsr.ts [folder]`, `.tmp/jsr` by default. Each entry names its declarations, so that JSR does not infer
 * types: the types of a schema can't be written by hand.
 */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");
/** Packages on JSR. The others are commands or need a bundler. */
const names = [
  "core",
  "stores",
  "media",
  "batch",
  "prices",
  "react",
  "worker-proxy",
  "durable",
  "ai-sdk",
  "emulator",
  "otel",
];

/** React ships no types. */
const REACT_TYPES = "npm:@types/react@^19";

/** Writes the workspace to `folder`, which is emptied first. Returns the folders of its packages. */
export function writeForJSR(folder: string): string[] {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const catalog = readCatalog(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"));
  writeJSON(join(folder, "deno.json"), {
    workspace: names.map((name) => `./${name}`),
    compilerOptions: { lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable", "deno.ns"] },
  });
  return names.map((name) => writePackage(name, join(folder, name), catalog));
}

function writePackage(name: string, folder: string, catalog: ReadonlyMap<string, string>): string {
  const from = stagePackage(join(root, "packages", name));
  const manifest: Manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  const types = findTypes(manifest);
  for (const file of globSync("dist/**/*.{js,d.ts}", { cwd: from }))
    copyModule(from, folder, file, types.get(`./${file}`));
  cpSync(join(from, "README.md"), join(folder, "README.md"));
  cpSync(join(from, "LICENSE"), join(folder, "LICENSE"));
  writeJSON(join(folder, "deno.json"), {
    name: manifest.name,
    version: manifest.version,
    license: manifest.license,
    exports: readExports(manifest),
    imports: createImports(manifest, catalog),
    publish: { include: ["dist", "README.md", "LICENSE", "deno.json"] },
  });
  return folder;
}

/** Finds the declarations of each entry, relative to its module. */
function findTypes({ exports }: Manifest): ReadonlyMap<string, string> {
  const targets = Object.values(exports).filter((target) => typeof target !== "string");
  return new Map(
    targets.map(({ default: code, types }) => [code, `./${posix.relative(posix.dirname(code), types)}`]),
  );
}

/** Copies a module without its source map. An entry names its declarations, and declarations name the types of React. */
function copyModule(from: string, folder: string, file: string, declarations: string | undefined): void {
  const source = readFileSync(join(from, file), "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
  const types = declarations === undefined ? "" : `/* @ts-self-types="${declarations}" */\n`;
  const module = file.endsWith(".js")
    ? types + source
    : source
        // declarations of a bundled package name modules that are not files
        .replace(/(\bfrom |\bimport\()"(\.[^"]*)\.js"/g, '$1"$2.d.ts"')
        .replace(/^import [^;]*? from "react";$/gm, (line) => `// @ts-types="${REACT_TYPES}"\n${line}`);
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), module);
}

function readExports({ exports }: Manifest): Record<string, string> {
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === "string" ? [] : [[entry, target.default]],
  );
  return Object.fromEntries(entries);
}

/** Maps the names of npm packages to npm. Workspace packages resolve by themselves. */
function createImports(manifest: Manifest, catalog: ReadonlyMap<string, string>): Record<string, string> {
  const { dependencies = {}, peerDependencies = {} } = manifest;
  const names = Object.keys({ ...peerDependencies, ...dependencies }).filter((name) => catalog.has(name));
  const entries = names.map((name) => [name, `npm:${name}@^${catalog.get(name)?.replace("^", "")}`]);
  return Object.fromEntries(entries);
}

function readCatalog(yaml: string): ReadonlyMap<string, string> {
  const [, rows = ""] = /^catalog:\n((?: .*\n)*)/m.exec(yaml) ?? [];
  const found = rows.matchAll(/^ {2}"?([^":]+)"?: "?([^"#\n]+?)"?(?: #.*)?$/gm);
  return new Map([...found].map(([, name = "", range = ""]) => [name, range]));
}

function writeJSON(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

if (import.meta.main) writeForJSR(process.argv[2] ?? join(root, ".tmp/jsr"));

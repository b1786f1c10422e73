import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Template, templates } from "../src/templates.ts";

/*
 * Makes the templates of the examples: `dist/templates/<name>`. Versions of the workspace become versions of the registry,
 * and a tsconfig stands alone. Nothing is written twice: what an example has, its template has.
 */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "../../..");
const out = join(import.meta.dirname, "../dist/templates");
const UNNEEDED =
  /^(?:node_modules|dist|\.next|next-env\.d\.ts|\.wrangler|\.dev\.vars|\.tmp|README\.md|.*\.tsbuildinfo)$/;
const IGNORED = "node_modules/\ndist/\n.next/\nnext-env.d.ts\n.wrangler/\n.dev.vars\n.env*\n*.log\n";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const { version }: Manifest = JSON.parse(read("packages/core/package.json"));
const catalog = new Map(
  [...read("pnpm-workspace.yaml").matchAll(/^ {2}"?([^":\n]+)"?: "?([^"#\n]+?)"?(?: #.*)?$/gm)].map(
    ([, name = "", range = ""]) => [name, range],
  ),
);

rmSync(out, { recursive: true, force: true });
for (const [name, template] of Object.entries(templates)) build(name, template);

function build(name: string, template: Template): void {
  for (const { example, to } of template.parts) {
    const from = join(root, "examples", example);
    const folder = join(out, name, to);
    mkdirSync(folder, { recursive: true });
    cpSync(from, folder, {
      recursive: true,
      filter: (path) => path === from || !UNNEEDED.test(basename(path)),
    });
    const isMain = to === ".";
    const more = isMain ? template : undefined;
    writeJSON(join(folder, "package.json"), manifestOf(`examples/${example}/package.json`, more));
    if (existsSync(join(folder, "tsconfig.json")))
      writeJSON(join(folder, "tsconfig.json"), tsconfigOf(`examples/${example}/tsconfig.json`));
    if (isMain) writeFileSync(join(folder, "gitignore"), IGNORED);
    if (example === "next") standAlone(join(folder, "next.config.ts"));
  }
}

/** Leaves out of a Next config what the repository needs: its root, and no second check of the types. */
function standAlone(path: string): void {
  const config = readFileSync(path, "utf8");
  const alone = config.replace(/^ *(?:\/\/.*|typescript: .*|turbopack: .*)\n/gm, "");
  if (alone === config) throw new Error(`${path} has nothing to leave out any more`);
  writeFileSync(path, alone);
}

function manifestOf(path: string, template?: Template): object {
  const { scripts, dependencies = {}, devDependencies = {}, ...rest }: Manifest = JSON.parse(read(path));
  return {
    ...rest,
    version: "0.0.0",
    scripts: { ...scripts, ...template?.scripts },
    dependencies: published(dependencies),
    devDependencies: published({ ...devDependencies, ...template?.tools }),
  };
}

function published(list: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(list).map(([name, range]) => {
    if (range.startsWith("workspace:")) return [name, `^${version}`];
    const found = range === "catalog:" ? catalog.get(name) : range;
    if (found === undefined) throw new Error(`${name} is not in the catalog`);
    return [name, /^\d/.test(found) ? `^${found}` : found];
  });
  return Object.fromEntries(entries);
}

/** Joins a tsconfig with the one that it extends, and leaves out what belongs to the repository. */
function tsconfigOf(path: string): object {
  const own = JSON.parse(read(path));
  const base = own.extends === undefined ? {} : JSON.parse(read("tsconfig.base.json"));
  const compilerOptions = { ...base.compilerOptions, ...own.compilerOptions };
  for (const name of ["incremental", "declaration", "sourceMap"]) delete compilerOptions[name];
  return { ...own, compilerOptions, extends: undefined, references: undefined };
}

function writeJSON(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

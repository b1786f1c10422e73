import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { type TemplateName, templates } from "./templates.js";

/** An app to create, or to add to. */
export interface CreateOptions {
  /** Folder of the app. */
  readonly folder: string;
  readonly template: TemplateName;
  /** Adds to an app that exists: no file is overwritten, and package.json gets what it lacks. */
  readonly add: boolean;
}

/** Changes that {@link create} made, as paths within the folder. */
export interface Created {
  readonly written: readonly string[];
  /** Files of the template that were there already, and were left as they are. */
  readonly kept: readonly string[];
}

interface Manifest {
  readonly name?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const sources = join(import.meta.dirname, "templates");

/**
 * Creates an app of a template.
 *
 * @throws Error if the folder has files and `add` is false, or has no package.json and `add` is true.
 */
export function create({ folder, template, add }: CreateOptions): Created {
  const from = join(sources, template);
  if (add && !existsSync(join(folder, "package.json")))
    throw new Error(`${folder} has no package.json. Leave --add out to start a new app there.`);
  if (!add && existsSync(folder) && readdirSync(folder).some((name) => name !== ".git"))
    throw new Error(`${folder} is not empty. Choose another folder, or add to the app in it with --add.`);

  const written: string[] = [];
  const kept: string[] = [];
  for (const file of filesOf(from)) {
    // npm leaves a .gitignore out of a package
    const to = join(dirname(file), basename(file) === "gitignore" ? ".gitignore" : basename(file));
    if (file === "package.json") written.push(writeManifest(join(from, file), join(folder, to), add));
    else if (existsSync(join(folder, to))) kept.push(to);
    else {
      mkdirSync(dirname(join(folder, to)), { recursive: true });
      cpSync(join(from, file), join(folder, to));
      written.push(to);
    }
  }
  const vars = written.find((file) => file.endsWith(".dev.vars.example"));
  if (vars !== undefined) written.push(writeSecrets(folder, vars));
  if (template === "next" && !existsSync(join(folder, ".env.local"))) {
    writeFileSync(join(folder, ".env.local"), "GATEWAY_URL=http://127.0.0.1:8788\nGATEWAY_API_KEY=sk-test\n");
    written.push(".env.local");
  }
  if (!add) written.push(writeReadme(folder, template));
  return { written, kept };
}

/** Lists the files of a folder, hidden ones too, by their path in it. */
function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort();
}

/** Writes the manifest of a new app, or adds to that of another what it lacks. */
function writeManifest(from: string, to: string, add: boolean): string {
  const ours: Manifest = JSON.parse(readFileSync(from, "utf8"));
  const theirs: Manifest = add ? JSON.parse(readFileSync(to, "utf8")) : { name: nameOf(dirname(to)) };
  const has = { ...theirs.devDependencies, ...theirs.dependencies };
  const lacking = (list: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !(name in has)));
  const manifest = {
    ...(add ? {} : ours),
    ...theirs,
    scripts: { ...ours.scripts, ...theirs.scripts },
    dependencies: { ...theirs.dependencies, ...lacking(ours.dependencies) },
    devDependencies: { ...theirs.devDependencies, ...lacking(ours.devDependencies) },
  };
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, `${JSON.stringify(manifest, undefined, 2)}\n`);
  return "package.json";
}

/** Returns a name that npm accepts. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name || "sluice-app";
}

/** Writes the secrets of a Worker for this machine: random ones, and the emulator's address and key. */
function writeSecrets(folder: string, example: string): string {
  const to = example.replace(/\.example$/, "");
  if (existsSync(join(folder, to))) return to;
  const values: Readonly<Record<string, string>> = { GATEWAY_API_KEY: "sk-test" };
  const lines = readFileSync(join(folder, example), "utf8").replace(
    /^(\w+)=$/gm,
    (_, name: string) => `${name}=${values[name] ?? randomBytes(32).toString("base64")}`,
  );
  writeFileSync(
    join(folder, to),
    `${lines}# For this machine alone: the emulator\nGATEWAY_URL=http://127.0.0.1:8788\n`,
  );
  return to;
}

function writeReadme(folder: string, template: TemplateName): string {
  const { title, steps } = templates[template];
  writeFileSync(
    join(folder, "README.md"),
    `# ${basename(folder)}\n\nMade with \`npm create sluice\`: ${title}.\n\n    npm install\n\n${steps}\n`,
  );
  return "README.md";
}

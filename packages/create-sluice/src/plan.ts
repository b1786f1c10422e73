import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { type Adapted, adapted } from "./adapt.js";
import type { ByHand } from "./edits.js";
import { withIgnored } from "./ignored.js";
import { inWordsOf, managerOf, nearest } from "./manager.js";
import { type Manifest, merged } from "./manifest.js";
import { type Template, type TemplateName, templates } from "./templates.js";

/** An app to create, or to add to. */
export interface Wanted {
  /** Folder of the app. */
  readonly folder: string;
  readonly template: TemplateName;
  /** True for an app that exists. */
  readonly add: boolean;
}

/** A file that is written: a new one, or one whose text changes. Paths are within the folder. */
export interface Change {
  readonly path: string;
  /** Text until now; undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** The work for an app. Nothing is written yet. */
export interface Plan {
  readonly changes: readonly Change[];
  /** Files of the template whose place is taken by others, which stay as they are. */
  readonly kept: readonly string[];
  /** Edits that are left to the user. */
  readonly byHand: readonly ByHand[];
}

const ONE_FILE = "Move its lines into .env.local, and delete it: wrangler reads only one of the two files.";
const sources = join(import.meta.dirname, "templates");

/** Plans an app of a template, or what an app lacks of it. */
export function planOf({ folder, template, add }: Wanted): Plan {
  const read = (path: string) => {
    const at = join(folder, path);
    return existsSync(at) ? readFileSync(at, "utf8") : undefined;
  };
  const theirs: Manifest | undefined = add ? JSON.parse(read("package.json") ?? "{}") : undefined;
  const name = nameOf(theirs?.name ?? basename(folder));
  const manager = managerOf(folder);
  const files = filesOf(join(sources, template)).map(({ path, text }): Adapted => {
    const own = text.replaceAll("sluice-app", name);
    // commands within commands are npm's, which is there with each of the others
    const named = { path, text: path === "package.json" ? own : inWordsOf(manager, own) };
    return theirs ? adapted(named, { template, read }) : named;
  });
  const kept: string[] = [];
  const byHand: ByHand[] = [];
  const changes: Change[] = [];
  const write = (path: string, after: string) => {
    const before = read(path);
    if (before !== after) changes.push({ path, before, after });
  };

  write(".gitignore", withIgnored(folder, read(".gitignore")));
  for (const { path, text, edits, isTheirs } of files) {
    byHand.push(...(edits ?? []));
    if (path === "package.json" && theirs) {
      const { manifest, byHand: scripts } = merged(JSON.parse(text), theirs);
      byHand.push(...scripts);
      write(path, `${JSON.stringify(manifest, undefined, indentOf(read(path)))}\n`);
    } else if (isTheirs) write(path, text);
    else if (!edits && read(path) === undefined) write(path, text);
    else if (!edits && read(path) !== text) kept.push(path);
  }
  // an app that has our scripts may be deployed: its secrets are those of whoever deployed it
  const isRestored = read("scripts/check-deploy.ts") !== undefined;
  for (const [path, text] of settingsOf(template, isRestored))
    write(path, withSettings(read(path), inWordsOf(manager, text)));
  if (read(".dev.vars") !== undefined) byHand.push({ file: ".dev.vars", edit: ONE_FILE });
  const builds = manager === "pnpm" ? buildsOf(folder, templates[template]) : undefined;
  if (builds?.text !== undefined) write(builds.path, builds.text);
  else if (builds) byHand.push({ file: builds.path, edit: builds.edit });
  return { changes, kept, byHand };
}

/** Lists the files of a folder by their path in it, with `/` on each system. */
function filesOf(folder: string): { readonly path: string; readonly text: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((at) => ({ path: slashed(relative(folder, at)), text: readFileSync(at, "utf8") }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}

/** Returns a name that npm and Cloudflare accept. */
function nameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/^@[^/]*\//, "")
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name || "sluice-app";
}

function indentOf(text = ""): string {
  return /^[ \t]+/m.exec(text)?.[0] ?? "  ";
}

/** Adds the settings that a file lacks. What it has stays. */
function withSettings(before: string | undefined, wanted: string): string {
  if (before === undefined) return wanted;
  const has = (line: string) => new RegExp(`^(?:export )?${line.split("=")[0]}=`, "m").test(before);
  const missing = wanted.split("\n").filter((line) => /^\w+=/.test(line) && !has(line));
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return missing.length === 0 ? before : `${before}${gap}${missing.join("\n")}\n`;
}

/**
 * The list of packages whose install scripts pnpm runs; without it an install ends with an error. In a monorepo it is at
 * the root.
 */
function buildsOf(folder: string, { builds = [] }: Template) {
  const file = "pnpm-workspace.yaml";
  const above = nearest(file, folder);
  const before = above === undefined ? "" : readFileSync(above, "utf8");
  const lines = builds
    .filter((name) => !before.includes(name))
    .map((name) => `  ${name}: true\n`)
    .join("");
  if (lines === "") return undefined;
  const path = above === undefined ? file : slashed(relative(folder, above));
  const [head] = /^allowBuilds:[ \t]*\r?\n/m.exec(before) ?? [];
  if (head !== undefined) return { path, text: before.replace(head, head + lines) };
  const list = `allowBuilds:\n${lines}`;
  if (/^allowBuilds:/m.test(before)) return { path, edit: list };
  return { path, text: `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${list}` };
}

/**
 * The files with settings: those of development are complete, those of production lack what nobody else knows.
 *
 * @param isRestored true for an app that may be deployed: a new secret would sign out all of its users
 */
function settingsOf(
  template: TemplateName,
  isRestored: boolean,
): readonly (readonly [path: string, text: string])[] {
  const { address, setsMode, secrets = {}, settings = {} } = templates[template];
  const all = Object.entries({ SESSION_SECRET: "", ...secrets });
  const secret = () =>
    all.map(([name, begin]) => `${name}=${begin}${randomBytes(32).toString("base64")}\n`).join("");
  const deployed = `# the secrets of the deployed app: ask who deployed it, since new ones sign all users out\n${all
    .map(([name]) => `${name}=\n`)
    .join("")}`;
  const rest = "GATEWAY_URL=\nGATEWAY_API_KEY=\n";
  const empty = Object.keys(settings).map((name) => `${name}=\n`);
  return [
    [
      ".env.local",
      `# Development, on this machine alone. \`npm run dev\` sets the gateway: the emulator.\n${
        setsMode ? "NODE_ENV=development\n" : ""
      }APP_URL=${address}\n${secret()}# \`npm run dev:gateway\` needs a real gateway\n${rest}`,
    ],
    [
      ".env.production.local",
      `# Production. \`npm run check:deploy\` says what is missing.\nAPP_URL=\n${rest}${isRestored ? deployed : secret()}${empty.join("")}`,
    ],
  ];
}

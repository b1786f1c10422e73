import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { type Adapted, adapt } from "./adapt.js";
import type { ManualEdit } from "./edits.js";
import { addIgnored } from "./ignored.js";
import { convertCommands, findManager, findNearest } from "./manager.js";
import { type Manifest, mergeManifests } from "./manifest.js";
import { type Template, type TemplateName, templates } from "./templates.js";

/** An app to create or to add to. */
export interface AppOptions {
  /** Folder of the app. */
  readonly folder: string;
  readonly template: TemplateName;
  /** True for an existing app. */
  readonly add: boolean;
}

/** A new file, or a file with a changed text. Paths are relative to the folder. */
export interface Change {
  readonly path: string;
  /** Previous text. Undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** Planned changes. Nothing is written yet. */
export interface Plan {
  readonly changes: readonly Change[];
  /** Template files that already exist in the app and stay unchanged. */
  readonly unchanged: readonly string[];
  /** Edits that the user must make. */
  readonly manualEdits: readonly ManualEdit[];
}

/** The manual edit of `.dev.vars`. */
const DEV_VARS_EDIT =
  "Move its lines into .env.local, and delete it: wrangler reads only one of the two files.";
const sources = join(import.meta.dirname, "templates");

/** Plans a new app, or the additions to an app. */
export function createPlan({ folder, template, add }: AppOptions): Plan {
  const read = (path: string) => {
    const file = join(folder, path);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  const theirs: Manifest | undefined = add ? JSON.parse(read("package.json") ?? "{}") : undefined;
  const name = toName(theirs?.name ?? basename(folder));
  const manager = findManager(folder);
  const files = listFiles(join(sources, template)).map(({ path, text }): Adapted => {
    const named = text.replaceAll("sluice-app", name);
    // scripts call `npm run`, which works with every package manager
    const file = { path, text: path === "package.json" ? named : convertCommands(manager, named) };
    return theirs ? adapt(file, { template, read }) : file;
  });
  const unchanged: string[] = [];
  const manualEdits: ManualEdit[] = [];
  const changes: Change[] = [];
  const write = (path: string, after: string) => {
    const before = read(path);
    if (before !== after) changes.push({ path, before, after });
  };

  write(".gitignore", addIgnored(folder, read(".gitignore")));
  for (const { path, text, edits, isAppFile } of files) {
    manualEdits.push(...(edits ?? []));
    if (path === "package.json" && theirs) {
      const { manifest, manualEdits: scripts } = mergeManifests(JSON.parse(text), theirs);
      manualEdits.push(...scripts);
      write(path, `${JSON.stringify(manifest, undefined, readIndent(read(path)))}\n`);
    } else if (isAppFile) write(path, text);
    else if (!edits && read(path) === undefined) write(path, text);
    else if (!edits && read(path) !== text) unchanged.push(path);
  }
  // an app with our scripts may be deployed, with secrets that only its owner knows
  const mayBeDeployed = read("scripts/check-deploy.ts") !== undefined;
  for (const [path, text] of createSettings(template, mayBeDeployed))
    write(path, addSettings(read(path), convertCommands(manager, text)));
  if (read(".dev.vars") !== undefined) manualEdits.push({ file: ".dev.vars", edit: DEV_VARS_EDIT });
  const builds = manager === "pnpm" ? createBuildsList(folder, templates[template]) : undefined;
  if (builds?.text !== undefined) write(builds.path, builds.text);
  else if (builds) manualEdits.push({ file: builds.path, edit: builds.edit });
  return { changes, unchanged, manualEdits };
}

/** Lists the files of a folder by relative path, with `/` on every system. */
function listFiles(folder: string): { readonly path: string; readonly text: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => ({ path: toSlashes(relative(folder, file)), text: readFileSync(file, "utf8") }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function toSlashes(path: string): string {
  return path.split(sep).join("/");
}

/** Returns a name that npm and Cloudflare accept. */
function toName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/^@[^/]*\//, "")
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name || "sluice-app";
}

function readIndent(text = ""): string {
  return /^[ \t]+/m.exec(text)?.[0] ?? "  ";
}

/** Adds the missing settings to a file. Existing settings stay. */
function addSettings(before: string | undefined, settings: string): string {
  if (before === undefined) return settings;
  const has = (line: string) => new RegExp(`^(?:export )?${line.split("=")[0]}=`, "m").test(before);
  const missing = settings.split("\n").filter((line) => /^\w+=/.test(line) && !has(line));
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return missing.length === 0 ? before : `${before}${gap}${missing.join("\n")}\n`;
}

/**
 * Returns the list of packages whose install scripts pnpm may run. Without it, an install fails. In a monorepo, the
 * list is at the root.
 */
function createBuildsList(folder: string, { builds = [] }: Template) {
  const file = "pnpm-workspace.yaml";
  const existing = findNearest(file, folder);
  const before = existing === undefined ? "" : readFileSync(existing, "utf8");
  const lines = builds
    .filter((name) => !before.includes(name))
    .map((name) => `  ${name}: true\n`)
    .join("");
  if (lines === "") return undefined;
  const path = existing === undefined ? file : toSlashes(relative(folder, existing));
  const [head] = /^allowBuilds:[ \t]*\r?\n/m.exec(before) ?? [];
  if (head !== undefined) return { path, text: before.replace(head, head + lines) };
  const list = `allowBuilds:\n${lines}`;
  if (/^allowBuilds:/m.test(before)) return { path, edit: list };
  return { path, text: `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${list}` };
}

/**
 * Creates the settings files. Development is complete; production lacks the values that only the user knows.
 *
 * @param mayBeDeployed true for an app that may have users, whom a new secret would sign out
 */
function createSettings(
  template: TemplateName,
  mayBeDeployed: boolean,
): readonly (readonly [path: string, text: string])[] {
  const { address, setsMode, secrets = {}, settings = {} } = templates[template];
  const all = Object.entries({ SESSION_SECRET: "", ...secrets });
  const createSecret = () =>
    all.map(([name, prefix]) => `${name}=${prefix}${randomBytes(32).toString("base64")}\n`).join("");
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
      }APP_URL=${address}\n${createSecret()}# \`npm run dev:gateway\` needs a real gateway\n${rest}`,
    ],
    [
      ".env.production.local",
      `# Production. \`npm run check:deploy\` says what is missing.\nAPP_URL=\n${rest}${mayBeDeployed ? deployed : createSecret()}${empty.join("")}`,
    ],
  ];
}

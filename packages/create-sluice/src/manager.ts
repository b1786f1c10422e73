import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const LOCKS: Readonly<Record<string, string>> = {
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
  "package-lock.json": "npm",
};

/** Finds the package manager of the folder or its parents, else the manager that runs this command: `npm`, `pnpm`. */
export function findManager(folder: string): string {
  const lock = Object.keys(LOCKS).find((name) => existsSync(join(folder, name)));
  if (lock !== undefined) return LOCKS[lock] ?? "npm";
  if (dirname(folder) !== folder) return findManager(dirname(folder));
  const [, name = "npm"] = /^(\w+)\//.exec(process.env["npm_config_user_agent"] ?? "") ?? [];
  return name;
}

/** Finds a file by name in a folder or its nearest parent. */
export function findNearest(name: string, folder: string): string | undefined {
  if (existsSync(join(folder, name))) return join(folder, name);
  return dirname(folder) === folder ? undefined : findNearest(name, dirname(folder));
}

/** Converts the npm commands in a text to another package manager. */
export function convertCommands(manager: string, text: string): string {
  if (manager === "npm") return text;
  return text
    .replace(/\bnpm ((?:run|create) [^`\n]*?) -- /g, "npm $1 ")
    .replace(/\bnpm (?=(?:install|start|run|create)\b)/g, `${manager} `)
    .replace(/\bnpx (?=wrangler\b)/g, manager === "bun" ? "bunx " : `${manager} exec `);
}

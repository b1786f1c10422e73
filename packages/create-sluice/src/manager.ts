import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const LOCKS: Readonly<Record<string, string>> = {
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
  "package-lock.json": "npm",
};

/** Returns the package manager of the folder or of one above, or the one that started this command: `npm`, `pnpm`. */
export function managerOf(folder: string): string {
  const lock = Object.keys(LOCKS).find((name) => existsSync(join(folder, name)));
  if (lock !== undefined) return LOCKS[lock] ?? "npm";
  if (dirname(folder) !== folder) return managerOf(dirname(folder));
  const [, name = "npm"] = /^(\w+)\//.exec(process.env["npm_config_user_agent"] ?? "") ?? [];
  return name;
}

/** Returns the file of that name in a folder, or in the nearest one above. */
export function nearest(name: string, folder: string): string | undefined {
  if (existsSync(join(folder, name))) return join(folder, name);
  return dirname(folder) === folder ? undefined : nearest(name, dirname(folder));
}

/** Writes the commands in a text, which are npm's, as those of another package manager. */
export function inWordsOf(manager: string, text: string): string {
  if (manager === "npm") return text;
  return text
    .replace(/\bnpm ((?:run|create) [^`\n]*?) -- /g, "npm $1 ")
    .replace(/\bnpm (?=(?:install|start|run|create)\b)/g, `${manager} `)
    .replace(/\bnpx (?=wrangler\b)/g, manager === "bun" ? "bunx " : `${manager} exec `);
}

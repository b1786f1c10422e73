import { spawnSync } from "node:child_process";

/** Files with secrets of the app's folder, and folders into which build tools copy them. */
export const SECRETS = [".env.local", ".env.production.local", ".dev.vars", "dist/", ".wrangler/"];
const USUAL = ["node_modules/", ...SECRETS, ".next/", "next-env.d.ts", "*.log"];

/** Returns a `.gitignore` with the lines that it lacks. An app that exists gets those of {@link SECRETS} alone. */
export function withIgnored(folder: string, before: string | undefined): string {
  if (before === undefined) return `${USUAL.join("\n")}\n`;
  const lines = before.split(/\r?\n/).map((line) => line.trim());
  const missing = SECRETS.filter((path) => !(isIgnored(folder, path) ?? lines.includes(path)));
  if (missing.length === 0) return before;
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${gap}\n# secrets\n${missing.join("\n")}\n`;
}

/** @throws Error if git would add a file with secrets to a commit */
export function checkIgnored(folder: string): void {
  const open = SECRETS.find((path) => isIgnored(folder, path) === false);
  if (open !== undefined)
    throw new Error(
      `git would commit ${open}, which is for secrets. If it is committed already, git rm -r --cached ${open} first.`,
    );
}

/** Returns if git ignores a path; undefined where there is no git, or no repository. */
function isIgnored(folder: string, path: string): boolean | undefined {
  const { status } = spawnSync("git", ["check-ignore", "--quiet", path], { cwd: folder, stdio: "ignore" });
  return status === 0 ? true : status === 1 ? false : undefined;
}

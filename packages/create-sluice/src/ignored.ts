import { spawnSync } from "node:child_process";

/** Files with secrets, and folders to which build tools copy them. */
const SECRETS = [".env.local", ".env.production.local", ".dev.vars", "dist/", ".wrangler/"];
const NEW_LINES = ["node_modules/", ...SECRETS, ".next/", "next-env.d.ts", "*.log"];

/** Returns a `.gitignore` with all secrets: a new one, or the existing one with the missing lines. */
export function addIgnored(folder: string, before: string | undefined): string {
  if (before === undefined) return `${NEW_LINES.join("\n")}\n`;
  const lines = before.split(/\r?\n/).map((line) => line.trim());
  const ignored = listIgnored(folder) ?? lines;
  const missing = SECRETS.filter((path) => !ignored.includes(path));
  if (missing.length === 0) return before;
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${gap}\n# secrets\n${missing.join("\n")}\n`;
}

/** @throws Error if git would add a file with secrets to a commit */
export function checkIgnored(folder: string): void {
  const ignored = listIgnored(folder);
  const exposed = ignored && SECRETS.find((path) => !ignored.includes(path));
  if (exposed !== undefined)
    throw new Error(
      `git would commit ${exposed}, which is for secrets. If it is committed already, git rm -r --cached ${exposed} first.`,
    );
}

/** Lists the secrets that git ignores. Returns undefined without git or a repository. */
function listIgnored(folder: string): readonly string[] | undefined {
  const options = { cwd: folder, encoding: "utf8" } as const;
  const { status, stdout } = spawnSync("git", ["check-ignore", ...SECRETS], options);
  return status === 0 || status === 1 ? stdout.split("\n") : undefined;
}

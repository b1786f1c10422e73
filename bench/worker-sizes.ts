import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * node bench/worker-sizes.ts: what `wrangler deploy --dry-run` would upload of each example, in kB, and what it warns
 * of. The packages have to be built.
 */

const WORKERS = [
  ["template", "worker", "wrangler.jsonc"],
  ["durable", "worker", "wrangler.durable.jsonc"],
  ["studio", "studio", "wrangler.jsonc"],
  ["worker-client", "worker-client", "wrangler.jsonc"],
] as const;

for (const [name, folder, config] of WORKERS) {
  const cwd = fileURLToPath(new URL(`../examples/${folder}`, import.meta.url));
  const out = mkdtempSync(join(tmpdir(), "sluice-size-"));
  // the studio's page is not part of its Worker
  const page = join(cwd, "dist");
  const isEmpty = folder === "studio" && !existsSync(page);
  if (isEmpty) mkdirSync(page);
  const args = ["--no-install", "wrangler", "deploy", "--dry-run", "--config", config, "--outdir", out];
  const env = { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" };
  const printed = execFileSync("npx", args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (isEmpty) rmSync(page, { recursive: true });
  rmSync(out, { recursive: true });
  const [, whole, compressed] = /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(printed) ?? [];
  const kB = (kibibytes = "") => `${Math.round(Number(kibibytes) * 1.024)} kB`;
  const warnings = printed.match(/WARNING/g)?.length ?? 0;
  console.log(`${name}: ${kB(whole)}, ${kB(compressed)} compressed, ${warnings} warnings`);
}

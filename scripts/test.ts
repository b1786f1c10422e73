import { spawnSync } from "node:child_process";
import { ensureChromium } from "./chromium.ts";

/*
 * All that has to hold before a change lands, in the order in which it fails fastest. Quiet while it holds; the last
 * line is `N passed, N failed`.
 */

const checks: readonly (readonly [what: string, script: string])[] = [
  ["packages and page build", "build"],
  ["types", "check:types"],
  ["lint and layers", "check:lint"],
  ["no unused code", "check:unused"],
  ["sizes", "check:size"],
  ["package shapes", "check:package"],
];

const chromium = ensureChromium();
if (!chromium) {
  console.log("No Chromium here: the browser tests are skipped. Install one, or set CHROMIUM to its path.");
  if (process.env["CI"]) fail("Under CI a browser is required.");
}
for (const [what, script] of checks) {
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync("pnpm", ["run", script], { encoding: "utf8" });
  if (status !== 0) fail(`${stdout}${stderr}\n✗ ${what} (pnpm run ${script})`);
  console.log(`✓ ${what} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
}
process.exitCode =
  spawnSync("vitest", ["run", "--project", "!clients", ...process.argv.slice(2)], { stdio: "inherit" })
    .status ?? 1;

function fail(text: string): never {
  console.log(`${text}\n0 passed, 1 failed`);
  process.exit(1);
}

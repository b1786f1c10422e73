import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { ensureChromium } from "./chromium.ts";

/*
 * All that has to hold before a change lands, in the order in which it fails fastest. Quiet while it holds; the last
 * line is `N passed, N failed`.
 *
 * `--seed <number>` and `--runs <number>` are for the properties: to repeat a run that failed, or for a long one. All
 * other arguments are vitest's.
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
const { seed, runs, rest } = readArguments();
const env = { ...process.env, ...(seed && { SLUICE_SEED: seed }), ...(runs && { SLUICE_RUNS: runs }) };
const vitest = spawnSync("vitest", ["run", "--project", "!clients", ...rest], { stdio: "inherit", env });
process.exitCode = vitest.status ?? 1;

function fail(text: string): never {
  console.log(`${text}\n0 passed, 1 failed`);
  process.exit(1);
}

/** The arguments of the properties, as whole numbers in text, and all others as they came. */
function readArguments() {
  const args = process.argv.slice(2);
  const { values, tokens } = parseArgs({
    args,
    options: { seed: { type: "string" }, runs: { type: "string" } },
    strict: false,
    tokens: true,
  });
  const taken = new Set<number>();
  for (const token of tokens)
    if (token.kind === "option" && (token.name === "seed" || token.name === "runs")) {
      if (!/^\d+$/.test(token.value ?? "")) fail(`--${token.name} takes a whole number: --${token.name} 7`);
      taken.add(token.index);
      if (!token.inlineValue) taken.add(token.index + 1);
    }
  const { seed, runs } = values as { seed?: string; runs?: string };
  return { seed, runs, rest: args.filter((_, index) => !taken.has(index)) };
}

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureChromium } from "./chromium.ts";

/*
 * Runs the tests. The checks run beside the first tests; nothing is built twice. The last line is
 * `N passed, N failed`, summed over all test runs.
 *
 *   (none)    all that has to hold before a change lands
 *   --quick   what an edit needs: types, and the client's and the hooks' tests in Node
 *   --long    what is left out of both: kills, long property runs, other people's clients, Next, package shapes
 *   --ci      (none) and then --long
 *
 * `--seed <number>` and `--runs <number>` are for the properties: to repeat a run that failed, or for a longer one. All
 * other arguments go to each vitest.
 */

interface Stage {
  /** Scripts of `package.json` that run one after the other, before the tests. */
  readonly first?: readonly string[];
  /** Scripts that run beside the tests. */
  readonly beside?: readonly string[];
  /** Arguments of one `vitest run` each, and variables of its environment. */
  readonly tests: readonly { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv }[];
}

const notLong = ["--tags-filter", "!long"];
const quick: Stage = {
  beside: ["check:types"],
  tests: [
    {
      args: ["core in node", "react", "readme"]
        .flatMap((project) => ["--project", project])
        .concat("--exclude", "**/conformance.test.ts", ...notLong),
    },
  ],
};
const usual: Stage = {
  first: ["build"],
  beside: ["check:types", "check:lint", "check:unused", "check:size"],
  tests: [{ args: ["--project", "!clients", ...notLong] }],
};
const long: Stage = {
  first: ["build"],
  beside: ["check:package"],
  tests: [
    { args: ["--project", "!clients", "--tags-filter", "long"] },
    { args: ["--project", "worker-proxy", "fuzz"], env: { SLUICE_SEED: "7", SLUICE_RUNS: "2000" } },
    { args: ["--project", "together", "properties", "any-json"], env: { SLUICE_RUNS: "2000" } },
    { args: ["--project", "clients"] },
    { args: ["--config", "tests/next/vitest.config.ts"] },
  ],
};

const { mode, env: given, rest } = readArguments();
const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
const tally = join(folder, "tally");
writeFileSync(tally, "");
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let failedChecks = 0;

if (mode !== "quick" && !ensureChromium()) {
  console.log("No Chromium here: the browser tests are skipped. Install one, or set CHROMIUM to its path.");
  if (process.env["CI"]) end("Under CI a browser is required.");
}
if (mode === "quick") await run(quick);
else if (mode === "long") await run(long);
else await run(usual);
if (mode === "ci" && process.exitCode === undefined) await run({ ...long, first: [] });
end();

async function run({ first = [], beside = [], tests }: Stage): Promise<void> {
  for (const script of first) await check(script);
  if (failedChecks > 0) end();
  const checks = (async () => {
    for (const script of beside) await check(script);
  })();
  for (const { args, env } of tests) {
    const { status } = await start("vitest", ["run", ...args, ...rest], { ...env, ...given }, "inherit");
    if (status !== 0) process.exitCode = 1;
  }
  await checks;
}

/** Runs a script, and prints one line, or all that it printed where it fails. */
async function check(script: string): Promise<void> {
  const startedAt = performance.now();
  const { status, printed } = await start("pnpm", ["run", script]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status === 0) return console.log(`✓ ${script} (${seconds} s)`);
  console.log(`${printed}\n✗ pnpm run ${script}`);
  failedChecks += 1;
  process.exitCode = 1;
}

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, stdio?: "inherit") {
  const child = spawn(command, args, {
    env: { ...process.env, ...env, SLUICE_TALLY: tally },
    stdio: ["ignore", stdio ?? "pipe", stdio ?? "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
  return new Promise<{ status: number | null; printed: string }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, printed }));
  });
}

/** Ends with the closing line, which CI reads. */
function end(reason?: string): never {
  if (reason) console.log(reason);
  const counts = [0, reason ? failedChecks + 1 : failedChecks, 0];
  for (const line of readFileSync(tally, "utf8").split("\n").filter(Boolean))
    for (const [index, count] of line.split(" ").entries())
      counts[index] = (counts[index] ?? 0) + Number(count);
  const [passed, failed, skipped] = counts;
  // a run that ended without a tally has failed as well
  const isFailed = failed || process.exitCode;
  console.log(
    `${passed} passed, ${failed || (isFailed ? 1 : 0)} failed${skipped ? `, ${skipped} skipped` : ""}`,
  );
  process.exit(isFailed ? 1 : 0);
}

function readArguments() {
  const args = process.argv.slice(2);
  const modes = ["quick", "long", "ci"] as const;
  const { values, tokens } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      runs: { type: "string" },
      quick: { type: "boolean" },
      long: { type: "boolean" },
      ci: { type: "boolean" },
    },
    strict: false,
    tokens: true,
  });
  const taken = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const isNumber = token.name === "seed" || token.name === "runs";
    if (isNumber && !/^\d+$/.test(token.value ?? "")) {
      console.log(`--${token.name} takes a whole number: --${token.name} 7\n0 passed, 1 failed`);
      process.exit(1);
    }
    if (isNumber || modes.some((name) => name === token.name)) taken.add(token.index);
    if (isNumber && !token.inlineValue) taken.add(token.index + 1);
  }
  const { seed, runs } = values as { seed?: string; runs?: string };
  return {
    mode: modes.find((name) => values[name]),
    env: { ...(seed && { SLUICE_SEED: seed }), ...(runs && { SLUICE_RUNS: runs }) },
    rest: args.filter((_, index) => !taken.has(index)),
  };
}

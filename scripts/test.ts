import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureChromium } from "./chromium.ts";
import { closingLines, type Tally } from "./closing-line.ts";

/*
 * Runs the tests. Three things run beside each other: the build and the checks; the tests on the sources; and the proxy's
 * tests in Node, which wait a lot, followed by the tests of what is built. Nothing is built twice but the site, whose code
 * gets its colours in the long run. The last lines name what failed, and say `N passed, N failed`, over all test runs.
 *
 *   (none)    all that has to hold before a change lands
 *   --quick   what an edit needs: types, and the client's and the hooks' tests in Node
 *   --long    what is left out of both: kills, long property runs, React 18, React's compiler rules, unused code, other
 *             people's clients, Next, package shapes
 *   --ci      (none) and then --long
 *   --clients other people's clients alone; --recipes other people's frameworks alone; --next a built Next app alone
 *
 * `--seed <number>` and `--runs <number>` are for the properties: to repeat a run that failed, or for a longer one. All
 * other arguments go to each vitest.
 */

interface Stage {
  /** Scripts of `package.json` that run one after the other, beside the tests. */
  readonly scripts: readonly string[];
  /** Lists that run beside each other; the runs of one list follow each other. */
  readonly lanes: readonly (readonly TestRun[])[];
}

/** One `vitest run`. */
interface TestRun {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Script that has to have succeeded before. */
  readonly after?: string;
}

const notLong = ["--tags-filter", "!long"];
const quick: Stage = {
  scripts: ["check types"],
  lanes: [
    [{ args: [...projects("core in node", "react"), "--exclude", "**/conformance.test.ts", ...notLong] }],
  ],
};
/** Projects that test what is built. */
const built = ["rules", "together", "pages", "apps", "studio", "docs", "text", "simulation", "in a DOM"];
/** Project that waits a lot, for the alarms of Workers. */
const waiting = ["worker-proxy", "durable"];
/** Projects of the long run: the same tests as another project's, on another platform. */
const elsewhere = ["react 18", "emulator in workerd", "durable-on-node", "durable-on-postgres"];
/** Projects of which `test` runs the files that ask their platform for something, and the long run the others. */
const platforms = ["core in workerd", "core in chromium"];
const siteOf = (script: string) => ({ after: script, env: { SLUICE_SITE: "built" } });
const usual: Stage = {
  scripts: ["build", "site plain", "check types", "check style", "check size"],
  lanes: [
    [
      {
        args: [
          ...projects(
            ...["clients", "recipes", ...built, ...waiting, ...elsewhere].map((project) => `!${project}`),
          ),
          ...notLong,
          // a second worker would load all modules of each project again; the browsers and the other lanes fill the cores
          ...["--maxWorkers", "1"],
        ],
        env: { SLUICE_PORTABLE: "no" },
      },
    ],
    [
      { args: [...projects(...waiting), ...notLong, "--maxWorkers", "2"] },
      { args: [...projects(...built), ...notLong, "--maxWorkers", "2"], ...siteOf("site plain") },
    ],
  ],
};
const long: Stage = {
  scripts: ["build", "site build", "check react", "check unused", "check package"],
  lanes: [
    [
      { args: [...projects(...elsewhere, ...platforms), ...notLong], env: { SLUICE_PORTABLE: "only" } },
      { args: [...projects("!clients", "!recipes"), "--tags-filter", "long"], ...siteOf("site build") },
      { args: ["--project", "worker-proxy", "fuzz"], env: { SLUICE_SEED: "7", SLUICE_RUNS: "2000" } },
      { args: ["--project", "simulation", "properties", "any-json"], env: { SLUICE_RUNS: "2000" } },
      { args: ["--project", "simulation", "simulation.test", "chat-devices"], env: { SLUICE_RUNS: "400" } },
      { args: projects("clients", "recipes") },
    ],
  ],
};
const next: Stage = {
  scripts: ["build"],
  lanes: [[{ args: [...projects("apps"), "examples-next"], after: "build" }]],
};
/** Outcome of each script that was started. */
const ended = new Map<string, Promise<boolean>>();

const { mode, env: given, rest } = readArguments();
const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
const tally = join(folder, "tally");
writeFileSync(tally, "");
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const failedChecks: string[] = [];

if (mode !== "quick" && !ensureChromium()) {
  console.log("No Chromium here: the browser tests are skipped. Install one, or set CHROMIUM to its path.");
  if (process.env["CI"]) end("Under CI a browser is required.");
}
if (mode === "quick") await run(quick);
else if (mode === "long") await run(long);
else if (mode === "clients") await run({ scripts: [], lanes: [[{ args: projects("clients") }]] });
else if (mode === "recipes") await run({ scripts: [], lanes: [[{ args: projects("recipes") }]] });
else if (mode === "next") await run(next);
else await run(usual);
if (mode === "ci" && process.exitCode === undefined) await run(long);
end();

function projects(...names: readonly string[]): string[] {
  return names.flatMap((name) => ["--project", name]);
}

async function run({ scripts, lanes }: Stage): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  for (const script of scripts) {
    const before = last;
    if (!ended.has(script))
      ended.set(
        script,
        before.then(() => check(script)),
      );
    last = Promise.all([before, ended.get(script)]);
  }
  await Promise.all([last, ...lanes.map(runLane)]);
}

/** Runs tests one after the other. The first lane prints as it goes, another one what each of its runs has printed. */
async function runLane(tests: readonly TestRun[], nth: number): Promise<void> {
  for (const { args, env, after } of tests) {
    if (after && !(await ended.get(after))) continue;
    const output = nth === 0 ? "inherit" : undefined;
    const run = await start("vitest", ["run", ...args, ...rest], { ...env, ...given }, output);
    if (run.printed) console.log(run.printed);
    if (run.status !== 0) process.exitCode = 1;
  }
}

/** Runs a script, and prints one line, or all that it printed where it fails. Resolves to its success. */
async function check(script: string): Promise<boolean> {
  const startedAt = performance.now();
  const { status, printed } = await start("pnpm", ["run", ...script.split(" ")]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status === 0) {
    console.log(`✓ ${script} (${seconds} s)`);
    return true;
  }
  console.log(`${printed}\n✗ pnpm run ${script}`);
  failedChecks.push(`pnpm run ${script}`);
  process.exitCode = 1;
  return false;
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
  return new Promise<{ status: number | null; printed: string }>((resolve) => {
    // the others go on, so that nothing is left behind
    child.once("error", ({ message }) =>
      resolve({ status: 1, printed: `${message}: run this by npx -y pnpm@12.21.0 test` }),
    );
    child.once("close", (status) => resolve({ status, printed }));
  });
}

/** Ends with the closing lines, the last of which CI reads. */
function end(reason?: string): never {
  const sum: Tally = { passed: 0, skipped: 0, failed: [...failedChecks, ...(reason ? [reason] : [])] };
  for (const line of readFileSync(tally, "utf8").split("\n").filter(Boolean)) {
    const { passed, skipped, failed } = JSON.parse(line) as Tally;
    sum.passed += passed;
    sum.skipped += skipped;
    sum.failed.push(...failed);
  }
  if (process.exitCode && sum.failed.length === 0) sum.failed.push("a run ended without a tally");
  process.stdout.write(closingLines(sum));
  process.exit(sum.failed.length ? 1 : 0);
}

function readArguments() {
  const args = process.argv.slice(2);
  const modes = ["quick", "long", "ci", "clients", "recipes", "next"] as const;
  const { values, tokens } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      runs: { type: "string" },
      quick: { type: "boolean" },
      long: { type: "boolean" },
      ci: { type: "boolean" },
      clients: { type: "boolean" },
      recipes: { type: "boolean" },
      next: { type: "boolean" },
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

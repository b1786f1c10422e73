import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { colorYellow, installChromium } from "./chromium.ts";
import { readArguments } from "./test/arguments.ts";
import { recordDurations } from "./test/durations.ts";
import { repeatFiles } from "./test/repeat.ts";
import {
  collectDurations,
  describeProjects,
  describeSkips,
  describeSlowest,
  type FileResult,
  readResults,
  splitOutput,
} from "./test/results.ts";
import { runScript, runVitest } from "./test/run.ts";
import type { Tier } from "./test/tiers.ts";

/*
 * Runs the tests of a tier and its checks. CONTRIBUTING.md explains the commands.
 *
 *   (none)      what must pass before a change is merged
 *   --quick     what an edit needs: types, and the client's and the hooks' tests in Node
 *   --ci        (none), then the `.ci.` tests; a file that fails runs once more alone
 *   --nightly   the `.nightly.` tests, and long searches
 *   --repeat N FILES   the files N times, shuffled, next to busy loops
 *
 * The files run in at most four shards, one more than the machine has cores: tests wait for pages and processes. Checks
 * and the build run in parallel. The last line says `N passed, N failed`.
 */

const scripts: Readonly<Record<"quick" | Tier, readonly (readonly string[])[]>> = {
  quick: [["check", "types"]],
  test: [
    ["node", "scripts/test/build.ts"],
    ["check", "types"],
    ["check", "style"],
  ],
  ci: ["react", "unused", "package", "size", "text"].map((name) => ["check", name]),
  nightly: [
    ["simulate", "--seeds", "10000"],
    ["simulate", "--uploads", "--seeds", "1000"],
    ["simulate", "--put-back"],
    ["soak", "--minutes", "10"],
    ["mutate", "packages/core/src", "--sample", "20"],
    ["mutate", "packages/stores/src", "--sample", "20"],
    ["test", "--repeat", "3", "tests/together", "tests/pages"],
  ],
};
/** The client, its stores and the hooks. */
const quick = ["core in node", "stores in node", "react"];
/** Random tests of the other tiers. They run longer at night. */
const searches: readonly { readonly runs: string; readonly args: readonly string[] }[] = [
  { runs: "2000", args: ["--project", "simulation", "properties", "any-json"] },
  { runs: "2000", args: ["--project", "rules", "emulator-schemas", "json-schemas"] },
  { runs: "2000", args: ["--project", "worker-proxy", "fuzz"] },
  {
    runs: "400",
    args: ["--project", "simulation", "simulation.test", "upload-simulation"],
  },
];
/** Number of failed files above which a second run is pointless. */
const MAX_RERUNS = 10;
/** Repeats of changed test files in CI. */
const CHANGED_REPEATS = 3;

const { mode, repeat: times, isRecording, env, rest } = readArguments(process.argv.slice(2));
const cache = join(import.meta.dirname, "../node_modules/.cache/sluice");
rmSync(join(cache, "output.log"), { force: true });
const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const failures: string[] = [];
const flaky: string[] = [];
const files: FileResult[] = [];
let repeatedPasses = 0;

if (mode !== "quick" && !installChromium() && process.env["CI"])
  failures.push("Under CI a browser is required.");
if (failures.length > 0) end();
if (times !== undefined) await repeat(times, rest);
else {
  await runTier(mode === "ci" ? "test" : mode);
  if (mode === "nightly" && rest.length === 0) await runSearches();
  if (mode === "ci" && failures.length === 0) await runTier("ci");
  if (mode === "ci" && failures.length === 0) await repeat(CHANGED_REPEATS, []);
}
end();

/** Runs the scripts of a tier in order, and its tests in parallel. */
async function runTier(tier: "quick" | Tier): Promise<void> {
  const isWhole = rest.length === 0;
  const results = join(folder, `${tier}.jsonl`);
  writeFileSync(results, "");
  const args = tier === "quick" ? [...quick.flatMap((name) => ["--project", name]), ...rest] : rest;
  const count = Math.min(4, availableParallelism() + 1);
  const runEnv = { ...env, SLUICE_TIER: tier === "quick" ? "test" : tier, SLUICE_RESULTS: results };
  const shards = Array.from({ length: count }, (_, nth) =>
    runVitest([...args, "--shard", `${nth + 1}/${count}`, "--maxWorkers", "1"], runEnv),
  );
  if (isWhole && tier !== "nightly") await runScripts(tier);
  const runs = await Promise.all(shards);
  const read = readResults(results);
  const crashed = runs.filter(({ status }) => status !== 0);
  const failed = read.files.filter((file) => file.failures.length > 0);
  for (const { output } of runs) showOutput(output);
  if (read.ended < count || (crashed.length > 0 && failed.length + read.failures.length === 0))
    failures.push("a run of vitest ended without results");
  const crashes = new Set(read.crashes.map(({ failure }) => failure));
  failures.push(...read.failures.filter((failure) => !crashes.has(failure)));
  files.push(...read.files);
  if (mode === "ci" && failed.length <= MAX_RERUNS) for (const file of failed) await runAgain(file, tier);
  for (const crash of read.crashes) await runCrashedAgain(crash, tier);
  failures.push(...files.flatMap((file) => file.failures.splice(0)));
}

/**
 * Prints the errors of a run. The output of other processes goes to a file: workerd reports every closed connection.
 */
function showOutput(output: string): void {
  const { errors, stray } = splitOutput(output);
  if (errors) console.log(errors);
  appendToCache("output.log", stray);
}

async function runScripts(tier: "quick" | Tier): Promise<void> {
  for (const script of scripts[tier]) {
    const { line, failure } = await runScript(script);
    console.log(line);
    if (failure) failures.push(failure);
  }
}

/** Runs the random tests for longer, then the nightly scripts. One of these scripts changes the sources. */
async function runSearches(): Promise<void> {
  for (const [nth, { runs, args }] of searches.entries()) {
    const results = join(folder, `search-${nth}.jsonl`);
    writeFileSync(results, "");
    const { output } = await runVitest(args, { SLUICE_RUNS: runs, ...env, SLUICE_RESULTS: results });
    showOutput(output);
    const read = readResults(results);
    if (read.ended === 0) failures.push(`${args.join(" ")} ended without results`);
    files.push(...read.files);
    failures.push(...read.failures, ...read.files.flatMap((file) => file.failures));
  }
  await runScripts("nightly");
}

async function repeat(count: number, chosen: readonly string[]): Promise<void> {
  const report = await repeatFiles(count, chosen, env, folder);
  console.log(report.line);
  repeatedPasses += report.passed;
  failures.push(...report.failures);
}

/** Runs a failed file once more, alone. If it passes, its failures are listed as flaky. */
async function runAgain(file: FileResult, tier: string): Promise<void> {
  const results = await runAlone(["--project", file.project, file.file], { ...env, SLUICE_TIER: tier });
  if (!results) return;
  flaky.push(...file.failures.splice(0));
  file.passed = results.reduce((sum, { passed }) => sum + passed, 0);
}

/** Runs a file once more, alone, after the runtime of its pool crashed during the file. */
async function runCrashedAgain(
  { file, failure }: { readonly file: string; readonly failure: string },
  tier: string,
): Promise<void> {
  const again = mode === "ci" ? await runAlone([file], { ...env, SLUICE_TIER: tier }) : undefined;
  (again ? flaky : failures).push(`${failure}: ${file}`);
  files.push(...(again ?? []));
}

/** Runs a file alone. Returns its results; undefined if one of its tests failed or none ran. */
async function runAlone(
  args: readonly string[],
  runEnv: Readonly<Record<string, string>>,
): Promise<readonly FileResult[] | undefined> {
  const results = join(folder, "again.jsonl");
  writeFileSync(results, "");
  const { status } = await runVitest([...args, "--maxWorkers", "1"], { ...runEnv, SLUICE_RESULTS: results });
  const again = readResults(results);
  const isGreen = again.files.every(({ failures }) => failures.length === 0) && again.failures.length === 0;
  return status === 0 && again.files.length > 0 && isGreen ? again.files : undefined;
}

/** Appends text to a file that CI stores as an artifact. */
function appendToCache(name: string, text: string): void {
  mkdirSync(cache, { recursive: true });
  appendFileSync(join(cache, name), `${text}\n`);
}

/** Prints the summary, and exits. CI reads its last line. */
function end(): never {
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  const skipped = files.reduce((sum, file) => sum + file.skipped.length, 0);
  if (files.length > 0) {
    for (const line of describeProjects(files)) console.log(line);
    const slowest = describeSlowest(files);
    if (slowest.length > 0) console.log(["the slowest tests:", ...slowest].join("\n"));
  }
  if (isRecording) recordDurations(collectDurations(files));
  if (times === undefined && passed === 0 && failures.length === 0) failures.push("no test ran");
  for (const line of describeSkips(files)) console.log(colorYellow(line));
  for (const line of flaky) console.log(`flaky: ${line}`);
  if (flaky.length > 0) appendToCache("flaky.txt", `${new Date().toISOString()}\n${flaky.join("\n")}`);
  for (const line of failures) console.log(`✗ ${line}`);
  console.log(
    `${passed + repeatedPasses} passed, ${failures.length} failed${skipped ? `, ${skipped} skipped` : ""}`,
  );
  process.exit(failures.length > 0 ? 1 : 0);
}

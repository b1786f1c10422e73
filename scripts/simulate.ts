import { writeFileSync } from "node:fs";
import { loadSimulation, loadUploads, type Sources } from "../tests/simulation/bundle.ts";
import { createScratchTree, readKnownBugs } from "../tests/simulation/known-bugs.ts";
import { readOptions } from "./options.ts";

/*
 * Runs simulations: tabs, storage, network and gateway, with faults at any step. Each seed is one scenario. A broken
 * rule is printed with the shortest steps that break it.
 *
 *   pnpm simulate --seeds 10000             10,000 scenarios
 *   pnpm simulate --seed 7 --seeds 1        one scenario again
 *   pnpm simulate --uploads --seeds 1000    1,000 scenarios of uploads
 *   pnpm simulate --put-back                puts each known bug back, and looks for it in the fixed scenarios, then in
 *                                           the seeds; --only <part of a name> for some
 *                                           (tests/simulation/bugs; a patch that does not apply fails)
 *
 * `--trace <file>` writes all that happened in the first seed.
 */

const { values } = readOptions({
  options: {
    seeds: { type: "string" },
    seed: { type: "string", default: "1" },
    uploads: { type: "boolean", default: false },
    "put-back": { type: "boolean", default: false },
    only: { type: "string", default: "" },
    trace: { type: "string" },
  },
});
const firstSeed = Number(values.seed);

/** Steps of the scenarios by kind. A step without a fault has no kind. */
const kinds: readonly (readonly [string, RegExp])[] = [
  ["faults between a tab and the server", /^break (connection|all)/],
  ["faults between the proxy and the gateway", /^break upstream/],
  ["restarts of the server", /^restart$/],
  ["restarts of the proxy", /^restart proxy/],
  ["crashes and broken calls of Durable Objects", /object/],
  ["odd responses of the gateway, and forgotten tasks", /^(spoil response|forget)/],
  ["tabs crashed, frozen, hidden or reloaded", /^(crash|freeze|hide|reload)$/],
  ["components mounted, unmounted or hidden", /mount|^hide for a while/],
  ["pages offline", /^go offline/],
  ["faults of the storage, and unreadable records", /^(change disk|corrupt)/],
  ["wrong clocks, and sessions that were over", /^(jump clock|sign out|end session)/],
  ["repeated requests", / again$/],
  ["steps of another user", /^stranger/],
];

if (values["put-back"]) await putBack(Number(values.seeds ?? 2000));
else if (values.uploads) await runUploads(Number(values.seeds ?? 1000));
else await run(Number(values.seeds ?? 1000));

async function run(seeds: number): Promise<void> {
  const { search, findShortest, report, createPlan, simulate } = await loadSimulation();
  if (values.trace) writeFileSync(values.trace, (await simulate(createPlan(firstSeed))).trace.join("\n"));
  const startedAt = process.cpuUsage();
  const figures = await search(firstSeed, seeds);
  const days = (figures.simulatedMs / 86_400_000).toFixed(1);
  console.log(`${figures.seeds} simulations, ${days} days, ${figures.steps} steps, ${figures.events} events`);
  console.log(`${measureCPUSeconds(startedAt)} s of CPU`);
  print(figures.counts);
  console.log();
  print(countByKind(figures.counts));
  for (const [kind, failing] of figures.failing) {
    console.log(`\n${failing.length} simulations: ${kind}: seeds ${failing.slice(0, 10).join(", ")}`);
    console.log(report(await findShortest(failing[0] as number)));
  }
  if (figures.failing.size > 0) process.exitCode = 1;
}

async function runUploads(seeds: number): Promise<void> {
  const { searchUploads } = await loadUploads();
  const startedAt = process.cpuUsage();
  const { simulations, counts, failing } = await searchUploads(firstSeed, seeds);
  console.log(`${simulations} simulations of uploads\n${measureCPUSeconds(startedAt)} s of CPU`);
  print(counts);
  for (const { seed, failure, trace } of failing)
    console.log([`\nseed ${seed}: ${failure}`, ...trace].join("\n"));
  if (failing.length > 0) process.exitCode = 1;
}

async function putBack(seeds: number): Promise<void> {
  const searchers = { simulations: searchSimulations, uploads: searchUploadSimulations };
  const tree = createScratchTree();
  process.on("exit", tree.remove);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
  const count = { found: 0, unapplied: 0, missed: 0 };
  for (const { name, search, patch } of readKnownBugs(values.only)) {
    const sources = tree.apply(patch);
    if (!sources) {
      count.unapplied += 1;
      console.log(`no patch   ${name}: does not apply; update it for the current sources`);
      continue;
    }
    const location = await searchers[search](sources, seeds);
    count[location === undefined ? "missed" : "found"] += 1;
    console.log(
      location === undefined ? `not found  ${name} (${seeds} seeds)` : `found      ${name}: ${location}`,
    );
  }
  console.log(
    `${count.found} found, ${count.missed} not found, ${count.unapplied} without a patch that applies`,
  );
  if (count.missed + count.unapplied > 0) process.exitCode = 1;
}

async function searchSimulations(sources: Sources, seeds: number): Promise<string | undefined> {
  const { scenarios, simulate, search, findShortest } = await loadSimulation(sources);
  for (const { name, plan } of scenarios) {
    const { failure } = await simulate(plan);
    if (failure !== undefined) return `the scenario "${name}": ${failure}`;
  }
  const { failing } = await search(firstSeed, seeds, () => true);
  const [[kind, [seed]] = ["", []]] = [...failing];
  return seed === undefined
    ? undefined
    : `seed ${seed}, ${(await findShortest(seed)).plan.steps.length} steps: ${kind}`;
}

async function searchUploadSimulations(sources: Sources, seeds: number): Promise<string | undefined> {
  const { searchUploads } = await loadUploads(sources);
  const [found] = (await searchUploads(firstSeed, seeds, () => true)).failing;
  return found && `seed ${found.seed}, ${found.trace.length} requests and visits: ${found.failure}`;
}

function countByKind(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [name, count] of counts)
    for (const [kind, names] of kinds) if (names.test(name)) sums.set(kind, (sums.get(kind) ?? 0) + count);
  return sums;
}

function print(counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of [...counts].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(8)}  ${name}`);
}

function measureCPUSeconds(startedAt: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(startedAt);
  return ((user + system) / 1_000_000).toFixed(1);
}

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { loadSimulation } from "../tests/simulation/bundle.ts";
import { knownBugs } from "../tests/simulation/known-bugs.ts";

/*
 * Runs simulated worlds: tabs, storage, network and gateway, with faults at any step. Each seed is one world. A rule that
 * is broken is printed with the shortest steps that break it.
 *
 *   pnpm simulate --seeds 10000             10,000 worlds
 *   pnpm simulate --seed 7 --seeds 1        one world again
 *   pnpm simulate --put-back                puts each known bug back, and looks for it
 *
 * `--trace <file>` writes all that happened in the first seed.
 */

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    seed: { type: "string", default: "1" },
    "put-back": { type: "boolean", default: false },
    only: { type: "string", default: "" },
    trace: { type: "string" },
  },
});
const first = Number(values.seed);

if (values["put-back"]) await putBack(Number(values.seeds ?? 2000));
else await run(Number(values.seeds ?? 1000));

async function run(seeds: number): Promise<void> {
  const { search, shortest, report, planOf, simulate } = await loadSimulation();
  if (values.trace) writeFileSync(values.trace, (await simulate(planOf(first))).trace.join("\n"));
  const startedAt = process.cpuUsage();
  const figures = await search(first, seeds);
  const days = (figures.simulatedMs / 86_400_000).toFixed(1);
  console.log(`${figures.seeds} worlds, ${days} days, ${figures.steps} steps, ${figures.events} events`);
  console.log(`${cpuSeconds(startedAt)} s of CPU`);
  for (const [name, count] of [...figures.counts].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(8)}  ${name}`);
  for (const [kind, failing] of figures.failing) {
    console.log(`\n${failing.length} worlds: ${kind}: seeds ${failing.slice(0, 10).join(", ")}`);
    console.log(report(await shortest(failing[0] as number)));
  }
  if (figures.failing.size > 0) process.exitCode = 1;
}

async function putBack(seeds: number): Promise<void> {
  const bugs = knownBugs.filter(({ name }) => name.includes(values.only));
  let found = 0;
  for (const { name, changes } of bugs) {
    const { search, shortest } = await loadSimulation(changes);
    const { seeds: tried, failing } = await search(first, seeds, () => true);
    const [[kind, [seed]] = ["", []]] = [...failing];
    if (seed === undefined) {
      console.log(`not found  ${name} (${tried} seeds)`);
      continue;
    }
    found += 1;
    const { plan } = await shortest(seed);
    console.log(`found      ${name}: seed ${seed}, ${plan.steps.length} steps: ${kind}`);
  }
  console.log(`${found} of ${bugs.length} found`);
}

function cpuSeconds(startedAt: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(startedAt);
  return ((user + system) / 1_000_000).toFixed(1);
}

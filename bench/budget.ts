import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundle } from "../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../packages/worker-proxy/test/support/workerd-process.ts";

/*
 * node bench/budget.ts: what a budget of `all` takes in workerd: the CPU of one reservation with its settlement, the
 * Worker's part included, beside open ones and by shards. workerd runs all objects of this machine in one thread, so
 * that shards can't be seen to be quicker here: a second core or machine is theirs. What can be seen is that a request
 * costs as much with 16 shards as with one, and that all objects get the same part of the requests.
 */

const PAIRS = Number(process.env["BENCH_PAIRS"] ?? 3000);
const code = await bundle(fileURLToPath(new URL("budget-worker.ts", import.meta.url)));
const workerd = await startWorkerd({ code, objects: { BUDGET: "Budget", FLOOR: "Floor" } });

try {
  await ask("floor&pairs=600");
  const floor = await costOf("floor");
  print("an object that writes one row for each message", floor, floor.cpuMs);
  await ask("alone&pairs=600");
  print("within the object, without the way there", await costOf("alone"), floor.cpuMs);
  let alone = 0;
  for (const open of [0, 1000, 10_000, 30_000, 100_000]) {
    await ask(`name=open-${open}&open=${open}&pairs=300`);
    const cost = await costOf(`name=open-${open}`);
    alone ||= cost.cpuMs;
    print(`one object, ${open.toLocaleString("en")} open`, cost, alone);
  }
  for (const shards of [1, 4, 16]) {
    await ask(`name=shards-${shards}&shards=${shards}&pairs=600`);
    print(`${shards} shards`, await costOf(`name=shards-${shards}&shards=${shards}`), alone);
  }
  const { passed } = await ask("name=full&shards=16&limit=1600&kept&pairs=3200");
  console.log(`16 shards, room for 1,600 and 3,200 that ask: ${passed} passed`);
} finally {
  await workerd.close();
}

async function ask(query: string): Promise<{ readonly passed: number }> {
  const answer = await fetch(`http://127.0.0.1:${workerd.port}/?${query}`);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { passed: number };
}

interface Cost {
  readonly cpuMs: number;
  readonly perSecond: number;
}

async function costOf(query: string): Promise<Cost> {
  const [before, startedAt] = [usedMs(), performance.now()];
  await ask(`${query}&pairs=${PAIRS}`);
  const seconds = (performance.now() - startedAt) / 1000;
  return { cpuMs: (usedMs() - before) / PAIRS, perSecond: PAIRS / seconds };
}

function usedMs(): number {
  const stat = readFileSync(`/proc/${workerd.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(stat[11]) + Number(stat[12])) * 10;
}

function print(title: string, { cpuMs, perSecond }: Cost, alone: number): void {
  const ratio = (cpuMs / alone).toFixed(2);
  console.log(`${title}: ${cpuMs.toFixed(2)} ms of CPU (${ratio} x), ${Math.round(perSecond)} a second`);
}

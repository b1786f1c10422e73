import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inTurns, toRatio } from "./harness.ts";
import { type Side, type SideName, sendRequest, sources, start } from "./proxy-sides.ts";

/*
 * node proxy-cpu.ts: the CPU of the proxy divided by the CPU of a bare Worker, in workerd, for 400 streams at once and for
 * 1,000 short requests. `BENCH_ROUNDS` sets the rounds.
 */

const gateway = fork(fileURLToPath(new URL("gateway.ts", import.meta.url)));
const port = await new Promise((resolve) => gateway.once("message", resolve));
const address = `http://127.0.0.1:${port}`;
const names = Object.keys(sources) as SideName[];
const sides = {} as Record<SideName, Side>;
for (const name of names) sides[name] = await start(name, address);

await row("short", "1,000 short requests, 20 at a time", async (side) => {
  for (let nth = 0; nth < 50; nth += 1)
    await Promise.all(Array.from({ length: 20 }, () => sendRequest(side, "short", "last")));
});
await row("paced", "400 streams at once", (side) =>
  Promise.all(Array.from({ length: 400 }, () => sendRequest(side, "paced", "last"))),
);
for (const side of Object.values(sides)) await side.close();
gateway.disconnect();

async function row(kind: string, title: string, work: (side: Side) => Promise<unknown>): Promise<void> {
  for (const side of Object.values(sides)) await sendRequest(side, kind, "last");
  const cpu = await inTurns(
    names,
    async (name) => {
      const before = sides[name].cpuMs();
      await work(sides[name]);
      return sides[name].cpuMs() - before;
    },
    { rounds: Number(process.env["BENCH_ROUNDS"] ?? 3), warmUps: 1, budgetMs: 120_000 },
  );
  for (const name of names)
    console.log(
      `${title}, ${name}: ${toRatio(cpu[name], cpu.bare).median.toFixed(2)} (${cpu[name].join(", ")} ms)`,
    );
}

import { type Figure, inTurns, short, signed, toFigure, toRatio } from "../harness.ts";
import { peers } from "../peers/streams.js";
import { startGateway } from "../start-gateway.ts";
import { own, type Subject } from "../subjects.ts";
import { formatTable, put, type Report } from "../topic.ts";

export const title = "From `fetch`, over HTTP";

export async function measure(): Promise<Report> {
  const subjects: Record<string, Subject> = {
    ...own,
    ...peers,
  };
  const names = Object.keys(subjects);
  const { address, child } = await startGateway();
  const gateway = (kind: string) => ({ baseURL: `${address}/${kind}`, fetch: globalThis.fetch });
  const cpu: Record<string, Record<string, Figure>> = {};
  for (const kind of ["a-frame-a-write", "64-KB-a-write"]) {
    const { floor = [], ...times } = await inTurns(names, async (name) => {
      const before = process.cpuUsage();
      await subjects[name]?.(gateway(kind), () => {});
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    for (const [name, values] of Object.entries(times))
      put(cpu, kind.replaceAll("-", " "), name, toRatio(values, floor));
  }
  const first = await inTurns(
    names,
    async (name) => {
      const startedAt = performance.now();
      let firstAt = 0;
      await subjects[name]?.(gateway("short"), () => {
        firstAt ||= performance.now();
      });
      return firstAt - startedAt;
    },
    { rounds: 400, warmUps: 100, budgetMs: 60_000 },
  );
  child.disconnect();
  const { floor = [], ...others } = first;
  const later = Object.entries(others).map(([name, values]) => {
    const behind = toFigure(values.map((ms, round) => ms - (floor[round] ?? 0)));
    return [name, `${signed(behind.median)} (${short(behind.low)}–${short(behind.high)})`];
  });
  const columns = { ...cpu, "ms to the first piece, over bare `fetch`": Object.fromEntries(later) };
  const { "a frame a write": whole = {} } = cpu;
  const cpuTexts = Object.entries(whole).map(([name, { median }]) => [name, short(median)]);
  return {
    markdown: `Each client reads 20,000 frames over HTTP from a gateway in another process. The figures are the CPU time of the client's process, divided by that of a hand-written loop over bare \`fetch\`.\n\n${formatTable("Node", columns)}`,
    summary: [
      {
        measure: "CPU of a stream from `fetch`, over a loop by hand, Node",
        texts: Object.fromEntries(cpuTexts),
      },
      {
        measure: "ms to the first piece, over bare `fetch`, Node",
        texts: Object.fromEntries(later.map(([name, text]) => [name, text?.split(" ")[0]])),
      },
    ],
  };
}

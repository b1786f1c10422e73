import { type Figure, inTurns, short, signed, toFigure, toRatio } from "../harness.ts";
import { type Side, type SideName, send, sendRequest, sources, start } from "../proxy-sides.ts";
import { startGateway } from "../start-gateway.ts";
import { formatTable, type Report } from "../topic.ts";

export const title = "The proxy";

const names = Object.keys(sources) as SideName[];
type Row = Record<string, Figure | string>;

export async function measure(): Promise<Report> {
  const { address, child } = await startGateway();
  const sides = {} as Record<SideName, Side>;
  for (const name of names) sides[name] = await start(name, address);
  const columns: Record<string, Row> = {};
  const first = await inTurns(names, (name) => sendRequest(sides[name], "short", "first"), {
    rounds: 300,
    warmUps: 40,
    budgetMs: 60_000,
  });
  columns["ms to the first byte, over bare"] = toRow((name) => {
    const { median } = toFigure(first[name].map((ms, round) => ms - (first.bare[round] ?? 0)));
    return signed(median);
  });
  for (const kind of ["a-frame-a-write", "4-KB-a-write", "64-KB-a-write"]) {
    const whole = await inTurns(names, (name) => sendRequest(sides[name], kind, "last"), {
      rounds: 9,
      warmUps: 3,
      budgetMs: 20_000,
    });
    columns[`speed, ${kind.replaceAll("-", " ")}`] = toRow((name) => toRatio(whole.bare, whole[name]));
  }
  const cpu = await inTurns(
    names,
    async (name) => {
      const before = sides[name].cpuMs();
      await Promise.all(Array.from({ length: 200 }, () => sendRequest(sides[name], "paced", "last")));
      return sides[name].cpuMs() - before;
    },
    { rounds: 2, warmUps: 0, budgetMs: 60_000 },
  );
  columns["CPU, 200 streams at once"] = toRow((name) => toRatio(cpu[name], cpu.bare));
  columns["RSS after the 200 streams, MB"] = toRow((name) => short(sides[name].rssMB()));
  const ahead = {} as Row;
  for (const name of names) ahead[name] = String(await measureReadAhead(sides[name], child));
  columns["MB ahead of a paused client"] = ahead;
  for (const side of Object.values(sides)) await side.close();
  child.disconnect();
  return {
    markdown: `The proxy in workerd, compared with \`bare\`: a Worker that forwards everything and checks nothing. \`pumped\`: the proxy forwards the response without reading it. \`read\`: a meter reads the response. Speed and CPU time are divided by those of \`bare\`. The speed is that of one response of 20,000 frames. Each of the 200 streams sends 100 events in 5 s. The last column is what the gateway could send of 200 MB while the client read nothing.\n\n${formatTable("proxy", columns)}`,
  };
}

function toRow(formatCell: (name: SideName) => Figure | string): Row {
  return Object.fromEntries(names.map((name) => [name, formatCell(name)]));
}

/** Measures how many megabytes the gateway can send while the client reads nothing. */
async function measureReadAhead(
  side: Side,
  gateway: Awaited<ReturnType<typeof startGateway>>["child"],
): Promise<number> {
  let taken = 0;
  const onMessage = ({ sent }: { sent: number }) => {
    taken = sent;
  };
  gateway.on("message", onMessage);
  const response = await send(side, "endless");
  response.pause();
  for (let before = -1; before !== taken; ) {
    before = taken;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  response.destroy();
  gateway.off("message", onMessage);
  return taken;
}

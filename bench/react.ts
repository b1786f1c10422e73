import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright";
import { build, type Rollup } from "vite";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";
import type { Run } from "./react-page.tsx";
import { makeEvents, readsOf } from "./workload.ts";

/*
 * A burst into a long list: `useChatStream` beside a `setState` per frame written by hand, in Chromium, over HTTP, with
 * React and our packages as built for production. Runs take turns, each in a page just loaded, since that is where
 * most bursts come; every figure is a median.
 */

declare function run(subject: string, length: number): Promise<Run>;

type Measured = Run & { readonly mainThreadMs: number };

const deltas = 5000;
const warmUps = 3;
const runs = 15;
const columns = ["commits", "frames", "finishedMs", "mainThreadMs", "longTasks"] as const;
const titles = ["commits", "frames", "finished ms", "main thread ms", "long tasks"];

const executablePath = findChromium();
if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
const script = await builtPage();
const events = makeEvents(deltas);
const answerLength = events.reduce((length, event) => length + textOf(event).length, 0);
const server = createServer((request, response) => {
  if (request.method === "POST") return answer(response);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(`<!doctype html><title>bench</title><body><script type="module">${script}</script>`);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await chromium.launch({ executablePath, args: chromiumFlags });
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);

console.log(`${deltas} deltas below 200 past messages, medians of ${runs} runs in turns:\n`);
const [byHand, ours] = await mediansOf(["byHand", "ours"]);
print("", titles);
print("setState by hand", byHand);
print("useChatStream", ours);
print("ours / by hand", [
  "",
  "",
  ...[2, 3].map((at) => ((ours?.[at] ?? 0) / (byHand?.[at] ?? 1)).toFixed(2)),
]);
await browser.close();
server.close();

async function builtPage(): Promise<string> {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const output = (await build({
    configFile: false,
    logLevel: "error",
    build: { write: false, rollupOptions: { input: path("react-page.tsx") } },
  })) as Rollup.RollupOutput;
  return output.output[0].code.replaceAll("</script", "<\\/script");
}

function textOf(event: string): string {
  const { content = "", reasoning_content: reasoning = "" } = JSON.parse(event.slice(6)).choices[0].delta;
  return reasoning + content;
}

/** The whole answer at once, as fast as the connection takes it. */
function answer(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const read of readsOf(events, 65_536)) response.write(read);
  response.end();
}

async function mediansOf(subjects: readonly string[]): Promise<number[][]> {
  const measured = subjects.map(() => [] as Measured[]);
  for (let turn = 0; turn < warmUps + runs; turn += 1)
    for (const [at, subject] of subjects.entries()) {
      const one = await measure(page, subject);
      if (turn >= warmUps) measured[at]?.push(one);
    }
  return measured.map((own) => columns.map((column) => median(own.map((one) => one[column]))));
}

async function measure(on: Page, subject: string): Promise<Measured> {
  await on.reload();
  const session = await on.context().newCDPSession(on);
  // the thread's own time: what else runs on this machine is not counted
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  const taskMs = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
  };
  const before = await taskMs();
  const one = await on.evaluate(([name, size]) => run(name, size), [subject, answerLength] as const);
  const mainThreadMs = (await taskMs()) - before;
  await session.detach();
  return { ...one, mainThreadMs };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print(name: string, cells: readonly (string | number)[] = []): void {
  const line = cells.map((cell, at) => shown(cell).padStart((titles[at]?.length ?? 0) + 3));
  console.log(name.padEnd(18) + line.join(""));
}

function shown(cell: string | number): string {
  return typeof cell === "string" ? cell : cell.toFixed(Number.isInteger(cell) ? 0 : 1);
}

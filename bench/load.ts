import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bundleAttacked } from "../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../packages/worker-proxy/test/support/workerd-process.ts";

/*
 * Sends streams, stored responses and short requests through a proxy in workerd, during an outage of the gateway and a kill
 * of workerd. Fails if a byte is lost or repeated, if a broken response looks complete, or if the heap grows with the
 * number of streams: it is read after one, two and four times as many. It takes about two minutes. Close other programs
 * first.
 *
 *     node bench/load.ts
 */

const STREAMS = 400;
const SHORT = 10_000;
const EVENTS = 50;
const EVENT_MS = 100;

const open = new Set<ServerResponse>();
let isOut = false;
const gateway = createServer(async (request, response) => {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  if (isOut) return void response.destroy();
  if (!JSON.parse(text).stream)
    return void response.writeHead(200, { "content-type": "application/json" }).end('{"choices":[]}');
  response.writeHead(200, { "content-type": "text/event-stream" });
  open.add(response);
  let nth = 0;
  const timer = setInterval(() => {
    nth += 1;
    const end = nth === EVENTS;
    const choice = { index: 0, delta: { content: `<${nth}>` }, finish_reason: end ? "stop" : null };
    response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    if (end) response.end("data: [DONE]\n\n");
  }, EVENT_MS);
  response.on("close", () => {
    open.delete(response);
    clearInterval(timer);
  });
});
await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
const upstream = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;

type Workerd = Awaited<ReturnType<typeof startWorkerd>>;

async function startProxy(plan: object): Promise<Workerd> {
  return await startWorkerd({
    code: await bundleAttacked({ plan, options: { limits: { maxStreamsPerUser: 10 } } }),
    texts: { UPSTREAM: upstream, GATEWAY_API_KEY: "sk-load-0123456789" },
    objects: { SLUICE: "Sluice" },
    isInspected: true,
  });
}

/** Sends a chat, and reads its response. */
async function sendRequest({ port }: Workerd, user: string, stream: boolean) {
  let text = "";
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${user}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "delta-5.3", stream, messages: [{ role: "user", content: "hi" }] }),
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
    return { status: response.status, text, isCut: false };
  } catch {
    return { status: 0, text, isCut: true };
  }
}

/**
 * Names the end of a stream. A whole stream has each piece once and in order, and `[DONE]` or a finish reason after the
 * last piece: the proxy does not wait longer than two seconds for `[DONE]`.
 */
function classify({ status, text, isCut }: Awaited<ReturnType<typeof sendRequest>>): string {
  const pieces = [...text.matchAll(/<(\d+)>/g)].map(([, nth]) => Number(nth));
  if (pieces.some((nth, at) => nth !== at + 1)) return "WRONG: a piece twice, or lost";
  const isWhole = pieces.length === EVENTS && /\[DONE\]|"stop"/.test(text);
  if (isWhole) return "whole";
  if (text.includes("[DONE]")) return "WRONG: looks whole";
  const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
  if (code) return `${status} ${code}`;
  return isCut ? "connection broken" : "WRONG: ended without a word";
}

const streams = (proxy: Workerd) =>
  Promise.all(
    Array.from({ length: STREAMS }, async (_, nth) =>
      classify(await sendRequest(proxy, `user-${nth}`, true)),
    ),
  );
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const readStatus = (pid: number) => readFileSync(`/proc/${pid}/status`, "utf8");
const rssMB = ({ pid }: Workerd) => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readStatus(pid))?.[1]) / 1024);
/** Memory of the process, and of the objects in its heap after a garbage collection. */
async function readMemory(proxy: Workerd) {
  const heapMB = (await proxy.usedHeap()) / 1024 / 1024;
  const text = `${rssMB(proxy)} MB, of which ${heapMB.toFixed(1)} in use by JavaScript`;
  return { rss: rssMB(proxy), heapMB, text };
}
const cpuMs = ({ pid }: Workerd) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(stat[11]) + Number(stat[12])) * 10;
};
let isWrong = false;

/** Runs one piece of work, and prints its results, time and memory. */
async function step(title: string, proxy: Workerd, work: () => Promise<readonly string[]>) {
  const before = cpuMs(proxy);
  const counts: Record<string, number> = {};
  for (const kind of await work()) counts[kind] = (counts[kind] ?? 0) + 1;
  const used = proxy.isAlive() ? `${cpuMs(proxy) - before} ms of CPU, ${rssMB(proxy)} MB` : "killed";
  console.log(`${title}: ${JSON.stringify(counts)}; ${used}`);
  if (Object.keys(counts).some((kind) => kind.startsWith("WRONG"))) isWrong = true;
}

async function outage(proxy: Workerd): Promise<readonly string[]> {
  const responses = streams(proxy);
  await later((EVENTS * EVENT_MS) / 2);
  isOut = true;
  for (const response of open) response.destroy();
  const refused = await sendRequest(proxy, "late", true);
  isOut = false;
  return [...(await responses), classify(refused)];
}

for (const [name, plan] of [
  ["streams", {}],
  ["stored responses", { resumable: true }],
] as const) {
  const proxy = await startProxy(plan);
  await sendRequest(proxy, "first", false);
  const idle = await readMemory(proxy);
  await step(`${STREAMS} ${name}`, proxy, () => streams(proxy));
  const first = await readMemory(proxy);
  if (name === "streams")
    await step(`${SHORT} short requests`, proxy, async () => {
      const kinds: string[] = [];
      const runWorker = async (nth: number) => {
        for (let left = SHORT / 50; left > 0; left -= 1) {
          const { status, text } = await sendRequest(proxy, `user-${nth}`, false);
          kinds.push(status === 200 && text === '{"choices":[]}' ? "whole" : `WRONG: ${status} ${text}`);
        }
      };
      await Promise.all(Array.from({ length: 50 }, (_, nth) => runWorker(nth)));
      return kinds;
    });
  await step(`${STREAMS} ${name}, an outage in the middle`, proxy, () => outage(proxy));
  // workerd reuses its memory for the next load, so the same load must not take more
  const second = await readMemory(proxy);
  for (const nth of ["third", "fourth"])
    await step(`${STREAMS} ${name}, the ${nth} time`, proxy, () => streams(proxy));
  const fourth = await readMemory(proxy);
  const texts = [first, second, fourth].map(({ text }) => text);
  console.log(`memory, ${name}: idle ${idle.text}; after 1, 2 and 4 loads ${texts.join("; ")}`);
  console.log(`memory, ${name}: the fourth over the second ${(fourth.rss / second.rss).toFixed(2)}`);
  const isLarge = [first, second, fourth].some(({ heapMB }) => heapMB > idle.heapMB + 10);
  // the first loads also compile code
  const hasGrown = fourth.heapMB > second.heapMB + 1 || fourth.rss > 1.3 * second.rss;
  if (isLarge || hasGrown) isWrong = true;
  await step(`${STREAMS} ${name}, workerd killed in the middle`, proxy, async () => {
    const responses = streams(proxy);
    await later((EVENTS * EVENT_MS) / 2);
    await proxy.close();
    return responses;
  });
  if (open.size > 0) await later(1000);
  console.log(`open at the gateway after the kill: ${open.size}`);
  if (open.size > 0) isWrong = true;
}
gateway.close();
if (isWrong) throw new Error("a byte was lost or repeated, a response looked complete, or memory grew");

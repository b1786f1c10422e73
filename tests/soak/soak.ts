import { type ChildProcess, spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { memoryStorage } from "@sluice/stores";
import { type CDPSession, chromium, type Page } from "playwright";
import { bundle } from "../../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../../packages/worker-proxy/test/support/workerd-process.ts";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { buildPage } from "../support/built-page.ts";
import { type Done, openLoad } from "./load.ts";
import type { SoakPage } from "./page.ts";

declare const page: SoakPage;

const KEY = "sk-soak-0123456789";
/** Number of samples; the first third is warm-up. */
const SAMPLES = 12;
/** Number of rounds at once, in Node and in the page each. */
const AT_ONCE = 4;
/** Connections that are not used again close in a few seconds. */
const PAUSE_MS = 5000;
const MB = 1024 * 1024;

/** Sizes that must not grow, with the allowed growth from the second to the last third, on average. */
const slack: Readonly<Record<string, number>> = {
  "Node heap, MB": 4,
  "Node descriptors": 12,
  "Node listeners": 2,
  "Node resources": 12,
  "page heap, MB": 4,
  "page listeners": 10,
  "page nodes": 10,
  "page storage, MB": 2,
  "workerd memory, MB": 40,
  "workerd heap, MB": 4,
  "workerd descriptors": 24,
};

/** Milliseconds until an unread stored response is deleted: 30 s without a reader, 20 s stored, and a check every 30 s. */
const STORED_MS = 120_000;

/** Uses the client for some minutes, prints its memory and storage sizes, and returns those that grow. */
export async function soak(minutes: number): Promise<string[]> {
  const gateway = await startGateway();
  const executablePath = findChromium();
  const worker = await startWorkerd({
    code: await bundle("../tests/soak/worker.ts"),
    texts: { UPSTREAM: gateway.url, GATEWAY_API_KEY: KEY },
    objects: { SLUICE: "Sluice" },
    isInspected: true,
  });
  const address = `http://127.0.0.1:${worker.port}`;
  const load = openLoad(address, "node", memoryStorage());
  const browser = executablePath && (await chromium.launch({ executablePath, args: chromiumFlags }));
  const tab = browser ? await (await browser.newContext()).newPage() : undefined;
  const html = tab ? await buildPage("../soak/page.ts") : "";
  await tab?.route(`${address}/`, (route) => route.fulfill({ contentType: "text/html", body: html }));
  await tab?.goto(address);
  const session = await tab?.context().newCDPSession(tab);
  let inPage: Done = { chats: 0, stops: 0, reconnects: 0, tasks: 0 };

  const samples: Record<string, number>[] = [];
  for (let nth = 0; nth < SAMPLES; nth += 1) {
    const until = performance.now() + Math.max(1000, (minutes * 60_000) / SAMPLES - PAUSE_MS);
    await Promise.all([
      repeat(until, () => load.round()),
      tab &&
        repeat(until, async () => {
          inPage = await tab.evaluate(() => page.round());
        }),
    ]);
    await wait(PAUSE_MS);
    samples.push({
      ...sampleOfNode(load.signal),
      ...(session && tab && (await sampleOfPage(session, tab))),
      "workerd heap, MB": rounded((await worker.usedHeap()) / MB),
      ...sampleOfWorkerd(worker.pid, worker.folder),
    });
    console.log(JSON.stringify(samples.at(-1)), JSON.stringify({ node: load.done, page: inPage }));
  }
  console.table({ node: load.done, page: inPage });
  console.table(
    Object.fromEntries(Object.keys(samples[0] ?? {}).map((name) => [name, samples.map((one) => one[name])])),
  );
  if (browser) await browser.close();
  const left = await storedAtRest(worker.folder);
  console.table({
    "at rest": {
      ...sampleOfWorkerd(worker.pid, worker.folder),
      "workerd heap, MB": rounded((await worker.usedHeap()) / MB),
    },
  });
  await worker.close();
  gateway.close();
  const growing = Object.keys(slack).flatMap((name) => grown(name, samples));
  return left === 0 ? growing : [...growing, `stored responses: ${left} are left`];
}

/** Waits until the stored responses are deleted. Returns how many remain. */
async function storedAtRest(folder: string): Promise<number> {
  const until = performance.now() + STORED_MS;
  for (;;) {
    const { full } = countDatabases(folder);
    if (full === 0 || performance.now() > until) return full;
    await wait(1000);
  }
}

/** Repeats concurrent rounds until the time is over. */
async function repeat(until: number, round: () => Promise<unknown>): Promise<void> {
  const one = async () => {
    while (performance.now() < until) await round();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** Names a size that is larger in the last third of the samples than in the second. */
function grown(name: string, samples: readonly Record<string, number>[]): string[] {
  const third = Math.floor(samples.length / 3);
  const computeMean = (part: readonly Record<string, number>[]) =>
    part.reduce((sum, one) => sum + (one[name] ?? 0), 0) / part.length;
  const [middle, last] = [computeMean(samples.slice(third, -third)), computeMean(samples.slice(-third))];
  return last - middle > (slack[name] ?? 0)
    ? [`${name}: from ${middle.toFixed(1)} to ${last.toFixed(1)}`]
    : [];
}

function sampleOfNode(signal: AbortSignal): Record<string, number> {
  (runInNewContext("gc") as () => void)();
  return {
    "Node heap, MB": rounded(process.memoryUsage().heapUsed / MB),
    "Node descriptors": readdirSync("/proc/self/fd").length,
    "Node listeners": getEventListeners(signal, "abort").length,
    "Node resources": process.getActiveResourcesInfo().length,
  };
}

async function sampleOfPage(session: CDPSession, tab: Page): Promise<Record<string, number>> {
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  const stored = await tab.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0);
  return {
    "page heap, MB": rounded(metric("JSHeapUsedSize") / MB),
    "page listeners": metric("JSEventListeners"),
    "page nodes": metric("Nodes"),
    "page storage, MB": rounded(stored / MB),
  };
}

function sampleOfWorkerd(pid: number, folder: string): Record<string, number> {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const { full, empty } = countDatabases(folder);
  return {
    "workerd memory, MB": rounded(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
    "workerd descriptors": readdirSync(`/proc/${pid}/fd`).length,
    // as many as were requested in the last minute
    "stored responses": full,
    "empty databases": empty,
  };
}

/** Counts the databases of the objects. workerd keeps the file of an object that has deleted all. */
function countDatabases(folder: string): { full: number; empty: number } {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) =>
    name.endsWith(".sqlite"),
  );
  const full = files.filter(({ parentPath, name }) => hasTables(`${parentPath}/${name}`)).length;
  return { full, empty: files.length - full };
}

/** Checks if the database of an object has tables. */
function hasTables(file: string): boolean {
  // the object may be using its database: wait for its lock
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    return tables.some(({ name }) => !/^(_cf_|sqlite_)/.test(String(name)));
  } finally {
    database.close();
  }
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Starts the emulator in a separate process: its memory for requests is not measured. */
async function startGateway(): Promise<{ url: string; close: () => void }> {
  const cli = fileURLToPath(new URL("../../packages/emulator/dist/cli.js", import.meta.url));
  const args = [cli, "--port", "0", "--key", KEY, "--speed", "200", "--quiet"];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill());
  for await (const line of createInterface(child.stdout as NodeJS.ReadableStream)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return { url, close: () => void child.kill() };
  }
  throw new Error("the emulator did not start");
}

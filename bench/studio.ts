import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright";
import { build, type Rollup } from "vite";
import { createDemoScript } from "../examples/studio/demo/script.ts";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";
import { measureFirstScreen } from "../tests/support/first-screen.ts";
import { startHostedStudio } from "../tests/support/hosted-studio.ts";
import { startQuickStudio } from "../tests/support/quick-studio.ts";
import { serveCompressed } from "./studio-site.ts";

/*
 * The studio as built, also as files alone, in Chromium, over HTTP on this machine. Loads are measured as Lighthouse does for a phone (a
 * slow processor and a slow network), in turns with the smallest page of React; every figure is a median. Tasks are
 * measured by the time that they had a processor, so that a busy machine does not lengthen them.
 */

interface Load {
  /** Largest paint of content, in milliseconds since the navigation. */
  readonly lcp: number;
  /** Time beyond 50 ms of each long task on a phone, in milliseconds. */
  readonly blocked: number;
}

/** A page that is measured. */
interface Subject {
  readonly name: string;
  readonly url: string;
}

declare global {
  /** Time of the largest paint so far, in milliseconds; only in the pages that are measured. */
  var largestPaint: number;
  /** Milliseconds from a click to the first text of a response; only in the pages that are measured. */
  var firstTextMs: number | undefined;
  /** Stores a long conversation under `id`; only in the page of `studio-seed.ts`. */
  var seed: (id: string) => void;
}

const LONG_CHAT = "bench-long";
const LONG_TEXT = "A line of a text, as people write.\n".repeat(28_600);
const KEY_VIEW = { width: 1100, height: 800 };
const runs = 5;
/** Numbers of responses after which the heap is measured. */
const FEW_MANY = [2, 12];
/** Minimum duration of a long task, in milliseconds. */
const LONG_TASK_MS = 50;
/** Lighthouse's phone: a processor four times as slow, and its slow 4G. */
const slowdown = 4;
const SLOW_3G = { bytesPerSecond: 50_000, latencyMs: 400 };
const network = { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 93_750 };

const executablePath = findChromium();
if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
const studio = await startQuickStudio({
  speed: Number.POSITIVE_INFINITY,
  chat: createDemoScript(),
});
const bareHTML = `<!doctype html><meta name="viewport" content="width=device-width"><div id="root"></div><script type="module" src="/bare.js"></script>`;
const bareScript = await buildScript("studio-bare.tsx");
const seedScript = await buildScript("studio-seed.ts");
const site = await serveCompressed(studio.address, {
  "/bare.html": { type: "text/html", body: bareHTML },
  "/bare.js": { type: "text/javascript", body: bareScript },
  "/seed.html": { type: "text/html", body: `<script type="module">${seedScript}</script>` },
});
const hosted = await startHostedStudio("/studio/");
const { origin, pathname } = new URL(hosted.address);
const hostedSite = await serveCompressed(origin, {});
const browser = await chromium.launch({ executablePath, args: chromiumFlags });

const studios: readonly Subject[] = [
  { name: "studio", url: `${site.address}/` },
  { name: "studio as files", url: hostedSite.address + pathname },
];
const loaded: readonly Subject[] = [
  ...studios,
  { name: "bare page of React", url: `${site.address}/bare.html` },
];
const loads = new Map(loaded.map(({ url }): [string, Load[]] => [url, []]));
for (let run = 0; run < runs; run += 1)
  for (const [url, list] of loads) list.push(await measureLoad(browser, url));
print("", ["LCP ms", "blocked ms"]);
for (const { name, url } of loaded) {
  const list = loads.get(url) ?? [];
  print(name, [list.map(({ lcp }) => lcp), list.map((it) => it.blocked)].map(median).map(Math.round));
}
print("until one can write", ["requests", "kB"]);
for (const { name, url } of studios) {
  const page = await openPage(browser, { width: 390, height: 844 });
  const { requests, bytes } = await measureFirstScreen(page, () => page.goto(url));
  await page.context().close();
  print(name, [requests, (bytes / 1000).toFixed(1)]);
}
print("slow 3G: s from a click to a text", ["at once", "after 3 s"]);
print("studio as files", [await measureFirstText(browser, 0), await measureFirstText(browser, 3000)]);
print("MB of heap after responses", FEW_MANY);
// a site that compresses passes no questions on
for (const [name, { address }] of Object.entries({ studio, "studio as files": hosted }))
  print(name, await measureHeapAfterReplies(browser, address));
const longest: number[] = [];
for (let run = 0; run < runs; run += 1) longest.push(await longChat(browser));
print("longest task of 200 turns, ms", [Math.round(median(longest)), ""]);
print("a key in 1 MB, over a textarea", [(await keyRatio(browser)).toFixed(2), ""]);
await browser.close();
site.close();
hostedSite.close();
await Promise.all([studio.close(), hosted.close()]);

/** Loads a page in a fresh context, as a phone would: its paint with a slow processor, its tasks without. */
async function measureLoad(on: Browser, url: string): Promise<Load> {
  const slow = await openPage(on, { width: 390, height: 844 });
  const devtools = await slow.context().newCDPSession(slow);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", network);
  await slow.goto(url, { waitUntil: "networkidle" });
  await slow.waitForFunction(() => globalThis.largestPaint > 0);
  const lcp = await slow.evaluate(() => globalThis.largestPaint);
  await slow.context().close();

  const page = await openPage(on, { width: 390, height: 844 });
  const tasks = await recordTasks(on, page, async () => {
    await page.goto(url, { waitUntil: "networkidle" });
    // wait for the page to preload its lazy files
    await page.waitForTimeout(5000);
  });
  await page.context().close();
  const blocked = tasks.map((ms) => Math.max(0, ms * slowdown - LONG_TASK_MS));
  return { lcp, blocked: blocked.reduce((sum, ms) => sum + ms, 0) };
}

/** Measures the seconds from a click on the first button, some time after it appears, to the first text of the response. */
async function measureFirstText(on: Browser, waitMs: number): Promise<string> {
  const slow = await serveCompressed(origin, {}, SLOW_3G);
  const page = await openPage(on, { width: 390, height: 844 });
  await page.addInitScript(recordFirstText);
  await page.goto(slow.address + pathname, { waitUntil: "commit" });
  const button = page.getByRole("button", { name: "Stream a response" });
  await button.waitFor();
  await page.waitForTimeout(waitMs);
  await button.click();
  await page.waitForFunction(() => globalThis.firstTextMs !== undefined);
  const seconds = (await page.evaluate(() => globalThis.firstTextMs ?? 0)) / 1000;
  await page.context().close();
  slow.close();
  return seconds.toFixed(1);
}

/** Runs in the page: records the time from a click to the first text. Playwright looks for a text every 500 ms at most. */
function recordFirstText(): void {
  let clickedAt = 0;
  const listener = ({ timeStamp }: Event) => {
    clickedAt = timeStamp;
  };
  document.addEventListener("click", listener, { capture: true });
  const observer = new MutationObserver(() => {
    const articles = [...document.querySelectorAll("article")];
    if (!articles.some((it) => /They want a tour|Here is one idea/.test(it.textContent))) return;
    globalThis.firstTextMs = performance.now() - clickedAt;
    observer.disconnect();
  });
  observer.observe(document, { childList: true, subtree: true, characterData: true });
}

/** Measures the heap of a page in megabytes, after garbage collection, for growing numbers of chats with one response each. */
async function measureHeapAfterReplies(on: Browser, url: string): Promise<readonly string[]> {
  const page = await openPage(on, { width: 1280, height: 800 });
  const devtools = await page.context().newCDPSession(page);
  await page.goto(url);
  const heaps: string[] = [];
  for (let replies = 1; replies <= Math.max(...FEW_MANY); replies += 1) {
    const field = page.getByRole("textbox", { name: "Message", exact: true });
    await field.fill("Show me what you can do");
    await field.press("Enter");
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    if (FEW_MANY.includes(replies)) {
      await devtools.send("HeapProfiler.collectGarbage");
      const { usedSize } = await devtools.send("Runtime.getHeapUsage");
      heaps.push((usedSize / 1_000_000).toFixed(1));
    }
    await page.getByRole("link", { name: "New chat" }).click();
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  }
  await page.context().close();
  return heaps;
}

/** Opens a conversation of 200 turns, and returns its longest task in milliseconds. */
async function longChat(on: Browser): Promise<number> {
  const page = await openPage(on, { width: 1280, height: 800 });
  await page.goto(`${site.address}/seed.html`);
  await page.waitForFunction(() => "seed" in globalThis);
  await page.evaluate((id) => globalThis.seed(id), LONG_CHAT);
  // writes 400 records; no event tells when the last one is stored
  await page.waitForTimeout(2000);
  const tasks = await recordTasks(on, page, async () => {
    await page.goto(`${site.address}/#/chat/${LONG_CHAT}`, { waitUntil: "networkidle" });
    // the older turns are rendered when the browser has time; a look for a text would be the longest task itself
    await page.waitForTimeout(5000);
  });
  await page.getByText("How does lock 199 work?").first().waitFor();
  await page.context().close();
  return Math.max(...tasks);
}

/** Processor time of a key in a text of 1 MB in the studio, over that in a textarea alone that looks the same. */
async function keyRatio(on: Browser): Promise<number> {
  const [own, bare] = [await openPage(on, KEY_VIEW), await openPage(on, KEY_VIEW)];
  for (const page of [own, bare]) {
    await page.goto(site.address, { waitUntil: "networkidle" });
    await page.getByRole("button", { name: "Add images" }).waitFor();
    // wait for the page to preload its lazy files
    await page.waitForTimeout(5000);
  }
  await bare.evaluate(() => {
    const field = document.createElement("textarea");
    field.className = document.querySelector("textarea")?.className ?? "";
    const box = document.createElement("div");
    box.className = "mx-auto flex w-full max-w-3xl flex-col p-2";
    box.append(field);
    document.body.replaceChildren(box);
  });
  // all at once: to write it as a person does takes minutes
  for (const page of [own, bare])
    await page.locator("textarea").evaluate((field: HTMLTextAreaElement, text) => {
      field.focus();
      field.setRangeText(text, 0, 0, "end");
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }, LONG_TEXT);
  const ratios: number[] = [];
  for (let run = 0; run <= runs; run += 1) {
    const ofOwn = await keyCost(on, own);
    const ofBare = await keyCost(on, bare);
    // the first keys in a text take longer
    if (run > 0) ratios.push(ofOwn / ofBare);
  }
  await Promise.all([own, bare].map((page) => page.context().close()));
  return median(ratios);
}

/** Processor time of some keys, and of the write of the draft after them, in milliseconds. */
async function keyCost(on: Browser, page: Page): Promise<number> {
  await page.bringToFront();
  const tasks = await recordTasks(on, page, async () => {
    for (let key = 0; key < 10; key += 1) await page.keyboard.press("x");
    await page.waitForTimeout(600);
  });
  return tasks.reduce((sum, ms) => sum + ms, 0);
}

/** Processor time of each task of the page's main thread while `act` runs, in milliseconds. */
async function recordTasks(on: Browser, page: Page, act: () => Promise<void>): Promise<readonly number[]> {
  await on.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
  await act();
  const { traceEvents } = JSON.parse((await on.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(toThreadId),
  );
  return traceEvents
    .filter((event) => event.name === "RunTask" && threads.has(toThreadId(event)))
    .map(({ tdur = 0 }) => tdur / 1000);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time, in microseconds. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

function toThreadId({ pid, tid }: TraceEvent): string {
  return `${pid} ${tid}`;
}

async function openPage(on: Browser, viewport: { width: number; height: number }): Promise<Page> {
  const page = await (await on.newContext({ viewport })).newPage();
  await page.addInitScript(observe);
  return page;
}

/** Runs in the page. */
function observe(): void {
  Object.assign(globalThis, { largestPaint: 0 });
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) globalThis.largestPaint = startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
}

async function buildScript(name: string): Promise<string> {
  const output = (await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      rollupOptions: {
        input: fileURLToPath(new URL(name, import.meta.url)),
        output: { codeSplitting: false },
      },
    },
  })) as Rollup.RollupOutput;
  return output.output[0].code.replaceAll("</script", "<\\/script");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

function print(name: string, cells: readonly (number | string)[]): void {
  console.log([name.padEnd(32), ...cells.map((cell) => String(cell).padStart(12))].join(""));
}

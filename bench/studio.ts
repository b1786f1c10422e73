import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright";
import { build, type Rollup } from "vite";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";
import { startQuickStudio } from "../tests/support/quick-studio.ts";

/*
 * The studio as built, in Chromium, over HTTP on this machine. Loads are measured as Lighthouse does for a phone (a
 * slow processor and a slow network), in turns with the smallest page of React; every figure is a median.
 */

interface Load {
  /** Largest paint of content, in milliseconds since the navigation. */
  readonly lcp: number;
  /** Time beyond 50 ms of each long task, in milliseconds. */
  readonly blocked: number;
  /** Longest task, in milliseconds. */
  readonly longest: number;
}

declare global {
  /** Load of the page so far; only in the pages that are measured. */
  var measured: Load;
  /** Stores a long conversation under `id`; only in the page of `studio-seed.ts`. */
  var seed: (id: string) => void;
}

const LONG_CHAT = "bench-long";
const runs = 5;
/** Lighthouse's phone: a processor four times as slow, and its slow 4G. */
const slowdown = 4;
const network = { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 93_750 };

const executablePath = findChromium();
if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
const studio = await startQuickStudio({ speed: Number.POSITIVE_INFINITY });
const bare = `<!doctype html><meta name="viewport" content="width=device-width"><div id="root"></div><script type="module" src="/bare.js"></script>`;
const bareScript = await scriptOf("studio-bare.tsx");
const seedScript = await scriptOf("studio-seed.ts");
const browser = await chromium.launch({ executablePath, args: chromiumFlags });

const loads: Record<string, Load[]> = { "/": [], "/bare.html": [] };
for (let run = 0; run < runs; run += 1)
  for (const path of Object.keys(loads)) loads[path]?.push(await loadOf(browser, path));
print("", ["LCP ms", "blocked ms"]);
const ours = loads["/"] ?? [];
const theirs = loads["/bare.html"] ?? [];
const figures = (list: readonly Load[]) => [
  median(list.map(({ lcp }) => lcp)),
  median(list.map((it) => it.blocked)),
];
print("studio", figures(ours).map(Math.round));
print("bare page of React", figures(theirs).map(Math.round));
print("longest task of 200 turns, ms", [Math.round(await longChat(browser)), ""]);
await browser.close();
await studio.close();

/** Loads a page in a fresh context, as a phone would. */
async function loadOf(on: Browser, path: string): Promise<Load> {
  const page = await openPage(on, { width: 390, height: 844 });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", network);
  await page.goto(studio.address + path, { waitUntil: "networkidle" });
  await page.waitForFunction(() => globalThis.measured.lcp > 0);
  await page.waitForLoadState("networkidle");
  const load = await page.evaluate(() => globalThis.measured);
  await page.context().close();
  return load;
}

/** Opens a conversation of 200 turns, and returns its longest task. */
async function longChat(on: Browser): Promise<number> {
  const page = await openPage(on, { width: 1280, height: 800 });
  await page.goto(`${studio.address}/seed.html`);
  await page.waitForFunction(() => "seed" in globalThis);
  await page.evaluate((id) => globalThis.seed(id), LONG_CHAT);
  // a write of 400 records; nothing says when the last is there
  await page.waitForTimeout(2000);
  await page.goto(`${studio.address}/#/chat/${LONG_CHAT}`, { waitUntil: "networkidle" });
  await page.getByText("How does lock 199 work?").first().waitFor();
  await page.waitForTimeout(1000);
  const { longest } = await page.evaluate(() => globalThis.measured);
  await page.context().close();
  return longest;
}

async function openPage(on: Browser, viewport: { width: number; height: number }): Promise<Page> {
  const page = await (await on.newContext({ viewport })).newPage();
  await page.route("**/bare.html", (route) => route.fulfill({ contentType: "text/html", body: bare }));
  await page.route("**/bare.js", (route) =>
    route.fulfill({ contentType: "text/javascript", body: bareScript }),
  );
  await page.route("**/seed.html", (route) =>
    route.fulfill({ contentType: "text/html", body: `<script type="module">${seedScript}</script>` }),
  );
  await page.addInitScript(observe);
  return page;
}

/** Runs in the page. */
function observe(): void {
  const measured = { lcp: 0, blocked: 0, longest: 0 };
  Object.assign(globalThis, { measured });
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) measured.lcp = startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      measured.blocked += Math.max(0, duration - 50);
      measured.longest = Math.max(measured.longest, duration);
    }
  }).observe({ type: "longtask", buffered: true });
}

async function scriptOf(name: string): Promise<string> {
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

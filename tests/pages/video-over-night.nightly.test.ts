import { createHash } from "node:crypto";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFilesInWorkerd } from "../../packages/durable/test/support/files-in-workerd.js";
import { readWebhook, WEBHOOK_SECRET } from "../../packages/durable/test/support/notify.js";
import { workerdMemory } from "../../packages/durable/test/support/workerd-memory.js";
import { KEY } from "../../packages/worker-proxy/test/support/key.js";
import { startUpstream } from "../../packages/worker-proxy/test/support/upstream.js";
import { findChromium } from "../../scripts/chromium.js";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.ts";
import { startCable } from "../support/cable.ts";
import type { VideoPage } from "../support/uploading-page.ts";

declare const page: VideoPage;

/** The spec's largest reference video. */
const BYTES = 104_857_600;
const MB = 1_000_000;
const DAY_MS = 86_400_000;
const started = Date.now();
let aheadMs = 0;
const clock = {
  now: () => started + aheadMs,
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
};
let scenario: Awaited<ReturnType<typeof startScenario>>;

/** A gateway, a Worker with everything, an app, and the line to the browser. */
async function startScenario() {
  const fetched: string[] = [];
  const fetchMedia = (address: string) => {
    fetched.push(address);
    return fetch(address);
  };
  const emulator = createEmulator({ apiKeys: [KEY], clock, fetchMedia });
  const gateway = await serve(emulator, { port: 0 });
  const [app, cable] = [await startUpstream(), await startCable()];
  app.respondWith((response) => void response.writeHead(204).end());
  const proxy = await startFilesInWorkerd({
    gateway: gateway.url,
    fixture: "durable/test/fixture/whole-worker.ts",
    bindings: {
      WEBHOOK_URL: `${app.url}/hook`,
      WEBHOOK_SECRET,
      PAGE: await buildPage("uploading-page.ts"),
      ORIGIN: cable.url,
    },
  });
  cable.lead(proxy.url);
  return {
    emulator,
    proxy,
    app,
    cable,
    fetched,
    async close() {
      cable.close();
      await proxy.close();
      app.close();
      await gateway.close();
    },
  };
}

describe.skipIf(!findChromium())("a video over night (skipped where there is no Chromium)", () => {
  beforeAll(async () => {
    scenario = await startScenario();
  });
  afterAll(() => scenario.close());

  test("a file is uploaded, cut and resumed, its task ends without a tab, and the next day shows the video", {
    timeout: 400_000,
  }, async () => {
    const { emulator, proxy, app, cable, fetched } = scenario;
    const context = await (await getSharedBrowser()).newContext();

    // 1. the upload, which breaks in its middle
    const tab = await context.newPage();
    await tab.goto(cable.url);
    await tab.waitForFunction(() => typeof page === "object");
    cable.cutAfter(BYTES / 2);
    const memory = sampleMemory();
    const failure = await tab.evaluate((bytes) => page.make(bytes), BYTES);
    const uploaded = memory.peak();
    expect([failure, cable.cuts()]).toEqual([undefined, 1]);

    // 2. the gateway has the whole file by its link
    expect(fetched).toHaveLength(1);
    expect(await hashAt(fetched[0] ?? "")).toEqual(hashOfFile());
    const { idle, half, peak } = memory.end();
    const figures = [idle, half, uploaded, peak].map((bytes) => `${Math.round(bytes / MB)} MB`);
    process.stdout.write(
      `workerd idle, at the cut, after the upload, after the download: ${figures.join(", ")}\n`,
    );
    // miniflare's R2 runs in the same process: its heap grows first, and then stays at this size
    expect(peak - uploaded).toBeLessThan(BYTES);

    // 3. the tab is closed, then the task ends
    await tab.waitForFunction(() => page.taskState() !== undefined);
    await tab.close();
    aheadMs += 3_600_000;
    await expect.poll(() => app.requests, { timeout: 120_000 }).toHaveLength(1);
    const event = app.requests.map(readWebhook)[0];
    expect(event).toMatchObject({ type: "video.succeeded", data: { user: "user-1" } });
    // the reference and the video
    await expect.poll(() => proxy.keys(), { timeout: 120_000 }).toHaveLength(2);

    // 4. the next day, in a new tab
    aheadMs += 1.1 * DAY_MS;
    await proxy.pass(aheadMs);
    const requestCount = emulator.requests.length;
    const next = await context.newPage();
    await next.clock.setFixedTime(clock.now());
    await next.goto(cable.url);
    const video = next.locator("video");
    const isShown = () => video.evaluate((video: HTMLVideoElement) => video.readyState > 0);
    await expect.poll(isShown, { timeout: 120_000 }).toBe(true);
    await expect.poll(() => video.getAttribute("src")).toMatch(`${cable.url}/v1/media/`);
    expect(emulator.requests.slice(requestCount).map(({ path }) => path)).toEqual([]);
    expect(app.requests).toHaveLength(1);
    await context.close();
  });
});

/** Samples the memory of workerd until it is ended. */
function sampleMemory() {
  const idle = workerdMemory("VmRSS");
  let half = idle;
  let peak = idle;
  const timer = setInterval(() => {
    peak = Math.max(peak, workerdMemory("VmRSS"));
    if (scenario.cable.cuts() === 0) half = peak;
  }, 100);
  return {
    peak: () => peak,
    end() {
      clearInterval(timer);
      return { idle, half, peak };
    },
  };
}

/** The hash of the page's file, made in the same pieces. */
function hashOfFile(): string {
  const sum = createHash("sha256");
  const piece = Uint8Array.from({ length: 1_048_576 }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
  const first = piece.slice();
  first.set([0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d]);
  for (let at = 0; at < BYTES / piece.length; at += 1) sum.update(at === 0 ? first : piece);
  return sum.digest("hex");
}

async function hashAt(url: string): Promise<string> {
  const sum = createHash("sha256");
  const { body } = await fetch(url);
  for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) sum.update(bytes);
  return sum.digest("hex");
}

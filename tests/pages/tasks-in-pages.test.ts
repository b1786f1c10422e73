import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import type { Browser, BrowserContext, Page } from "playwright";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { findChromium } from "../../scripts/chromium.js";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.js";
import type { VideoPage } from "../support/video-page.js";

declare const page: VideoPage;

describe.skipIf(!findChromium())("video tasks in real pages (skipped where there is no Chromium)", () => {
  let html: string;
  let browser: Browser;
  let context: BrowserContext;
  let scenario: Awaited<ReturnType<typeof openScenario>>;

  beforeAll(async () => {
    html = await buildPage("video-page.ts");
    browser = await getSharedBrowser();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    scenario = await openScenario(html);
  });
  afterEach(async () => {
    await context.close();
    await scenario.close();
  });

  /** A tab of this name. */
  async function tab(name: string): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(`${scenario.url}/?name=${name}`);
    return opened;
  }

  /** A tab with a running task, and the task's id. */
  async function tabWithTask(name: string): Promise<{ opened: Page; id: string }> {
    const opened = await tab(name);
    await opened.getByRole("button").click();
    await opened.waitForFunction(() => page.state().nextPollAt !== undefined);
    const id = await opened.evaluate(() => page.state().handle?.id ?? "");
    return { opened, id };
  }

  test("a double click creates one task", async () => {
    const opened = await tab("one");
    await opened.getByRole("button").dblclick();
    await opened.waitForFunction(() => page.state().task !== undefined);
    await opened.getByRole("button").click();
    await scenario.expectRequests("one", 2);
    expect(scenario.creates).toEqual(["one"]);
  });

  test("a reload during a task finds it again, and the task succeeds", async () => {
    const { opened, id } = await tabWithTask("one");
    await opened.reload();
    await opened.waitForFunction(() => page.tasks().length > 0);
    expect(await opened.evaluate(() => page.tasks()[0])).toMatchObject({ state: "created", handle: { id } });
    await opened.evaluate((id) => page.attach(id), id);
    await scenario.clock.advance(600_000);
    await opened.waitForFunction(() => page.state().status === "success");
    expect(await opened.evaluate(() => page.state().data?.url)).toContain("http");
    await opened.reload();
    await opened.waitForFunction(() => page.tasks()[0]?.task?.state === "succeeded");
    expect(scenario.creates).toHaveLength(1);
  });

  test("two tabs have one poller; after its tab is closed the other one polls, and gets the result", async () => {
    const { opened: left, id } = await tabWithTask("left");
    const right = await tab("right");
    await right.evaluate((id) => page.attach(id), id);
    await right.waitForFunction(() => page.state().task !== undefined);
    const before = scenario.queries.length;
    await scenario.expectRequests("left", before + 2);
    expect(new Set(scenario.queries.slice(before))).toEqual(new Set(["left"]));
    await left.close();
    await scenario.expectRequests("right", 2);
    await scenario.clock.advance(600_000);
    await right.waitForFunction(() => page.state().status === "success");
    expect(scenario.creates).toEqual(["left"]);
  });

  test("a page polls nothing while it is offline, and polls at once after that", async () => {
    const { opened } = await tabWithTask("one");
    await context.setOffline(true);
    await opened.waitForFunction(() => page.state().pauseReason === "offline");
    expect(await opened.evaluate(() => page.state())).toMatchObject({
      status: "pending",
      fetchStatus: "paused",
    });
    const before = scenario.queries.length;
    await context.setOffline(false);
    await scenario.expectRequests("one", before + 1);
    await opened.waitForFunction(() => page.state().fetchStatus !== "paused");
  });

  test("a page without a network polls a server on this machine for as long as it responds", async () => {
    await context.addInitScript("Object.defineProperty(navigator, 'onLine', { value: false })");
    const { opened } = await tabWithTask("one");
    await opened.evaluate(() => dispatchEvent(new Event("offline")));
    await scenario.expectRequests("one", scenario.queries.length + 3);
    await opened.route("**/v1/**", (route) => route.abort("connectionrefused"));
    await opened.waitForFunction(() => page.state().pauseReason === "offline");
    await opened.unroute("**/v1/**");
    await scenario.clock.advance(600_000);
    // the user returns to the tab
    await opened.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await opened.waitForFunction(() => page.state().status === "success");
    expect(scenario.creates).toEqual(["one"]);
  });

  test("a hidden page leaves polling to a visible one", async () => {
    const { opened: left, id } = await tabWithTask("left");
    const right = await tab("right");
    await right.evaluate((id) => page.attach(id), id);
    // a headless browser shows all its tabs: hide this tab by an event
    await left.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await left.waitForFunction(() => page.state().pauseReason === "hidden");
    await scenario.expectRequests("right", 3);
    const before = scenario.queries.length;
    await scenario.expectRequests("right", before + 2);
    expect(new Set(scenario.queries.slice(before))).toEqual(new Set(["right"]));
  });

  test("polls are not more frequent than the interval", async () => {
    const startedAt = performance.now();
    await tabWithTask("one");
    await scenario.expectRequests("one", 8);
    // 150 ms less a tenth between a response and the next question
    expect(performance.now() - startedAt).toBeGreaterThan(7 * 135);
  });
});

/** A gateway and a page on one address; the gateway's time is the test's. */
async function openScenario(html: string) {
  const clock = stoppedClock();
  // from now on: of a task of long ago the page would keep nothing
  const startedAt = Date.now();
  const now = () => startedAt + clock.now();
  const emulator = createEmulator({ apiKeys: ["sk-test"], clock: { now, sleep: clock.sleep } });
  const creates: string[] = [];
  const queries: string[] = [];
  const waiting = new Set<() => void>();
  const { url, close } = await serve(
    {
      ...emulator,
      async fetch(input) {
        const request = new Request(input);
        if (!new URL(request.url).pathname.startsWith("/v1"))
          return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
        const log = request.method === "POST" ? creates : queries;
        log.push(request.headers.get("x-page") ?? "");
        for (const check of [...waiting]) check();
        const headers = new Headers(request.headers);
        headers.set("authorization", "Bearer sk-test");
        return emulator.fetch(new Request(request, { headers }));
      },
    },
    { port: 0 },
  );
  return { url, close, clock, creates, queries, expectRequests };

  /** Resolves when a page has sent so many requests. */
  function expectRequests(name: string, times: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (queries.filter((asker) => asker === name).length < times) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  }
}

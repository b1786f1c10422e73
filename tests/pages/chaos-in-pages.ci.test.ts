import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import type { ChatState, VideoTaskState } from "@sluice/stores";
import { chat as chatRoutes, createProxy, videos } from "@sluice/worker-proxy";
import type { BrowserContext, Page } from "playwright";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { expectLog } from "../../packages/worker-proxy/test/support/expected-log.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.js";
import type { ChatPage } from "../support/chat-page.js";

/** The page with a chat, or the page with a video task. Each test uses the fields of its page. */
declare const page: Omit<ChatPage, "state"> & {
  readonly state: () => Omit<ChatState, "status"> &
    Omit<VideoTaskState, "status"> & { readonly status: string };
};

const KEY = "sk-chaos";

describe.skipIf(!findChromium())("pages without a reload (skipped where there is no Chromium)", () => {
  let html: Readonly<Record<string, string>>;
  let context: BrowserContext;
  let scenario: Awaited<ReturnType<typeof openScenario>>;

  expectLog("502 upstream_unreachable");
  beforeAll(async () => {
    html = { "/chat": await buildPage("chat-page.ts"), "/video": await buildPage("video-page.ts") };
  }, 120_000);
  beforeEach(async () => {
    context = await (await getSharedBrowser()).newContext();
  });
  afterEach(async () => {
    await context.close();
    await scenario.close();
  });

  async function chatTab(): Promise<Page> {
    const tab = await context.newPage();
    await tab.goto(`${scenario.url}/chat`);
    await tab.waitForFunction(() => page.state().persistence?.status !== "restoring");
    return tab;
  }

  const texts = (tab: Page) => tab.evaluate(() => page.state().messages.map(({ content }) => content));
  const hasText = (tab: Page) =>
    tab.waitForFunction(
      () => page.state().messages.at(-1)?.role === "assistant" && page.state().messages.at(-1)?.content,
    );
  const ends = (tab: Page, outcome: string) =>
    tab.waitForFunction((outcome) => page.state().messages.at(-1)?.outcome === outcome, outcome);

  test("a response is cut in all tabs when the proxy is killed, and the chat continues after its restart", async () => {
    scenario = await openScenario(html, { speed: Number.POSITIVE_INFINITY });
    const [firstTab, secondTab] = [await chatTab(), await chatTab()];
    await firstTab.evaluate(() => page.send("Tell me of rivers [[stall]]"));
    await hasText(firstTab);
    await hasText(secondTab);
    await scenario.killProxy();
    await ends(firstTab, "truncated");
    await ends(secondTab, "truncated");
    const cut = await texts(firstTab);

    // without a proxy, the question is stored but gets no response
    await firstTab.evaluate(() => page.send("And lakes?"));
    await firstTab.waitForFunction(
      () => page.state().status === "error" && page.state().messages.length === 4,
    );
    expect(scenario.requests()).toHaveLength(1);
    await scenario.startProxy();
    await firstTab.evaluate(() => page.retry());
    await ends(firstTab, "complete");
    const shown = await texts(firstTab);
    expect(shown).toEqual([...cut, "And lakes?", expect.stringMatching(/.{20}/)]);
    await expect.poll(() => texts(secondTab)).toEqual(shown);
    expect(scenario.requests()).toHaveLength(2);
  });

  test("a response of a crashed tab is cut in the other tab, where the chat continues", async () => {
    scenario = await openScenario(html, { speed: Number.POSITIVE_INFINITY });
    const [firstTab, secondTab] = [await chatTab(), await chatTab()];
    await firstTab.evaluate(() => page.send("Tell me of rivers [[stall]]"));
    await hasText(secondTab);
    const session = await context.newCDPSession(firstTab);
    const crashed = firstTab.waitForEvent("crash");
    void session.send("Page.crash").catch(() => {});
    await crashed;
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.outcome !== undefined);
    expect(await secondTab.evaluate(() => page.state().messages.at(-1)?.outcome)).not.toBe("complete");
    await secondTab.evaluate(() => page.send("And lakes?"));
    await ends(secondTab, "complete");
    const fresh = await chatTab();
    await expect.poll(async () => (await texts(fresh)).join()).toBe((await texts(secondTab)).join());
    expect(scenario.requests()).toHaveLength(2);
  });

  test("a task is pending while the gateway is restarted, and its result comes after that", async () => {
    scenario = await openScenario(html, {});
    const tab = await videoTab();
    await scenario.stopGateway();
    await tab.waitForFunction(() => page.state().failureReason !== undefined);
    expect(await tab.evaluate(() => page.state().status)).toBe("pending");
    await scenario.startGateway();
    await tab.waitForFunction(() => page.state().failureReason === undefined);
    await scenario.clock.advance(600_000);
    await tab.waitForFunction(() => page.state().status === "success");
    expect(scenario.requests()).toHaveLength(1);
  });

  test("a network that comes and goes pauses and resumes one task", async () => {
    scenario = await openScenario(html, {});
    const tab = await videoTab();
    for (let times = 0; times < 4; times += 1) {
      await context.setOffline(true);
      await tab.waitForFunction(() => page.state().pauseReason === "offline");
      expect(await tab.evaluate(() => page.state().status)).toBe("pending");
      await context.setOffline(false);
      await tab.waitForFunction(() => page.state().fetchStatus !== "paused");
    }
    await scenario.clock.advance(600_000);
    await tab.waitForFunction(() => page.state().status === "success");
    expect(scenario.requests()).toHaveLength(1);
  });

  /** Opens a tab that polls a task. */
  async function videoTab(): Promise<Page> {
    const tab = await context.newPage();
    await tab.goto(`${scenario.url}/video`);
    await tab.getByRole("button").click();
    await tab.waitForFunction(() => page.state().task !== undefined);
    return tab;
  }
});

/** A gateway, and a server with the pages and the proxy. Both can be stopped and started again at their address. */
async function openScenario(html: Readonly<Record<string, string>>, options: EmulatorOptions) {
  const clock = stoppedClock();
  const startedAt = Date.now();
  const time = { now: () => startedAt + clock.now(), sleep: clock.sleep };
  // the gateway's clock does not advance, unless it never waits
  const emulator = createEmulator({
    apiKeys: [KEY],
    ...(options.speed === undefined && { clock: time }),
    ...options,
  });
  let gateway = await listen(emulator);
  const gatewayPort = Number(new URL(gateway.url).port);
  const proxy = createProxy({
    baseURL: gateway.url,
    apiKey: () => KEY,
    authenticate: "public",
    origins: () => [url],
    models: ["alpha-v4.1-flash", "beta3.0-video"],
    routes: [chatRoutes, videos],
  });
  const site = {
    fetch: async (request: Request) => {
      const page = html[new URL(request.url).pathname];
      const headers = { "content-type": "text/html; charset=utf-8" };
      return page === undefined ? proxy.fetch(request) : new Response(page, { headers });
    },
  };
  let server = await listen(site);
  const { url } = server;
  const port = Number(new URL(url).port);
  return {
    url,
    clock,
    /** Chats and creates that the gateway got. */
    requests: () => emulator.requests.filter(({ method }) => method === "POST"),
    /** Closes the port of the pages and the proxy, and breaks every connection. */
    killProxy: () => server.close(),
    async startProxy() {
      server = await serve(site, { port });
    },
    stopGateway: () => gateway.close(),
    async startGateway() {
      gateway = await serve(emulator, { port: gatewayPort });
    },
    async close() {
      await Promise.all([server.close(), gateway.close()]);
    },
  };
}

/**
 * Listens on one of ten ports of this process below the ephemeral range, so that no other process uses it during a
 * restart.
 */
async function listen(handler: Parameters<typeof serve>[0]): Promise<Served> {
  const first = 26_000 + (process.pid % 400) * 10;
  for (let port = first; port < first + 10; port += 1) {
    const served = await serve(handler, { port }).catch(() => undefined);
    if (served) return served;
  }
  throw new Error("no port is free");
}

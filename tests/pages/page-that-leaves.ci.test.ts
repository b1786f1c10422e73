import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { type ChatStore, createChatStore } from "@sluice/stores";
import type { BrowserContext, Page } from "playwright";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.ts";
import { openServer } from "../support/conversations-server.ts";
import type { LeavingPage } from "../support/leaving-page.ts";

/* A page of a real browser that is closed, and another device that goes on: requests end as the browser ends them. */

declare const page: LeavingPage;

const PATIENCE = { interval: 20 };
const LONG = "Tell me all";

describe.skipIf(!findChromium())("a page that is closed (skipped where there is no Chromium)", () => {
  let html = "";
  let context: BrowserContext | undefined;
  const stops: (() => unknown)[] = [];
  beforeAll(async () => {
    html = await buildPage("leaving-page.ts");
  });
  afterEach(async () => {
    await context?.close();
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  /** Opens the page in a browser, and the same chat on another device. */
  async function devices() {
    const words = Array.from({ length: 4000 }, (_, nth) => `word${nth}`).join(" ");
    const asked: string[] = [];
    const emulator = createEmulator({
      speed: 1,
      chat({ messages }) {
        const text = String(messages.at(-1)?.content);
        asked.push(text);
        return text === LONG ? words : `On ${text}`;
      },
    });
    const server = openServer({
      baseURL: "https://gateway.example.com",
      fetch: (request) => emulator.clientOptions.fetch(request),
    });
    const served: Served = await serve({ fetch: answer }, { port: 0 });
    stops.push(
      () => server.close(),
      () => served.close(),
    );
    context = await (await getSharedBrowser()).newContext();
    const tab = await context.newPage();
    await tab.goto(served.url);
    await tab.waitForFunction(() => page.state().isRestoring === false);
    return { tab, other: openOther(server), asked, leave: () => tab.goto(`${served.url}/elsewhere`) };

    async function answer(request: Request): Promise<Response> {
      const { pathname } = new URL(request.url);
      const isPage = pathname === "/" || pathname === "/elsewhere";
      const text = pathname === "/" ? html : "<!doctype html><title>elsewhere</title>";
      if (isPage) return new Response(text, { headers: { "content-type": "text/html" } });
      const sent = new Request(request);
      sent.headers.set("origin", "https://app.example.com");
      return server.answer(sent);
    }
  }

  function openOther(server: ReturnType<typeof openServer>): ChatStore {
    const { client, storage } = server.openDevice();
    const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage, whenBusy: "queue" });
    stops.push(
      () => chat.close(),
      chat.subscribe(() => {}),
    );
    return chat;
  }

  const shows = (tab: Page, text: string) =>
    tab.waitForFunction((text) => page.state().messages.at(-1)?.content.startsWith(text), text);

  test("takes a queued message back as it goes, and stops its answer: no other device sends or reads on", async () => {
    const { tab, other, asked, leave } = await devices();
    await tab.evaluate((text) => page.send(text), LONG);
    await shows(tab, "word0");
    await tab.evaluate(() => page.send("Queued"));
    await expect.poll(() => other.getSnapshot().queued, PATIENCE).toMatchObject([{ content: "Queued" }]);
    await tab.evaluate(() => page.atEnd("stop"));
    await leave();
    await expect.poll(() => other.getSnapshot().queued, PATIENCE).toEqual([]);
    await expect.poll(() => other.getSnapshot().messages.at(-1)?.outcome, PATIENCE).toBe("stopped");
    expect(await other.send("Next")).toMatchObject({ outcome: "complete" });
    expect(asked).toEqual([LONG, "Next"]);
  });

  test("stops the answer of another device as it goes", async () => {
    const { tab, other, leave } = await devices();
    const turn = other.send(LONG);
    await shows(tab, "word0");
    await tab.evaluate(() => page.atEnd("stop"));
    await leave();
    expect(await turn).toMatchObject({ outcome: "stopped" });
  });

  test("has its last message on the other device", async () => {
    const { tab, other, leave } = await devices();
    await tab.evaluate(() => page.atEnd("send"));
    await leave();
    await expect
      .poll(() => other.getSnapshot().messages.map(({ content }) => content), PATIENCE)
      .toContain("The last words");
  });
});

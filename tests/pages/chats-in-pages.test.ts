import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { frame } from "../../packages/core/test/support/gateway.js";
import { streamCalls, streamText } from "../../packages/core/test/support/reply-streams.js";
import { findChromium } from "../../scripts/chromium.js";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.js";
import type { ChatPage } from "../support/chat-page.js";

declare const page: ChatPage;

describe.skipIf(!findChromium())("a chat in real tabs (skipped where there is no Chromium)", () => {
  let browser: Browser;
  let context: BrowserContext;
  let gateway: Awaited<ReturnType<typeof openGateway>>;

  beforeAll(async () => {
    gateway = await openGateway(await buildPage("chat-page.ts"));
    browser = await getSharedBrowser();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    gateway.requests.splice(0);
  });
  afterEach(() => context.close());
  afterAll(() => void gateway.close());

  async function tab(): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(gateway.url);
    await opened.waitForFunction(() => page.state().persistence?.status !== "restoring");
    return opened;
  }

  const shows = (opened: Page, text: string) =>
    opened.waitForFunction((text) => page.state().messages.at(-1)?.content === text, text);
  const texts = (opened: Page) => opened.evaluate(() => page.state().messages.map(({ content }) => content));

  test("three tabs send the result of one client tool once", async () => {
    const tabs = [await tab(), await tab(), await tab()];
    for (const opened of tabs) await opened.evaluate(() => page.respondToAll());
    await tabs[1]?.evaluate(() => page.send("call asked"));
    for (const opened of tabs) await shows(opened, "Done");
    expect(gateway.requests).toHaveLength(2);
    for (const opened of tabs) expect(await texts(opened)).toEqual(["call asked", "", "Done"]);
  });

  test("a call of a tab that crashes is closed in the other, and a call that waits gets its output there", async () => {
    const [firstTab, secondTab] = [await tab(), await tab()];
    await firstTab.evaluate(() => page.send("call endless and asked"));
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.toolCalls?.[0]?.state === "running");
    const session = await context.newCDPSession(firstTab);
    const crashed = firstTab.waitForEvent("crash");
    void session.send("Page.crash").catch(() => {});
    await crashed;
    await secondTab.waitForFunction(
      () => page.state().messages.at(-1)?.toolCalls?.[0]?.state === "cancelled",
    );
    await expect
      .poll(() => secondTab.evaluate(() => page.state().pendingActions))
      .toMatchObject([{ toolCallId: "c1" }]);
    await secondTab.evaluate(() => page.addToolOutput("c1"));
    await shows(secondTab, "Done");
    expect(gateway.requests).toHaveLength(2);
    await secondTab.reload();
    await shows(secondTab, "Done");
  });

  test("a response that is stopped in one tab is stopped in the other, with the same text", async () => {
    const [firstTab, secondTab] = [await tab(), await tab()];
    await firstTab.evaluate(() => page.send("stall"));
    await shows(secondTab, "Half an answer");
    expect(await secondTab.evaluate(() => page.state().messages.at(-1)?.outcome)).toBeUndefined();
    await firstTab.evaluate(() => page.stop());
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.outcome === "stopped");
    expect(await texts(secondTab)).toEqual(["stall", "Half an answer"]);
    await secondTab.reload();
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.outcome === "stopped");
    expect(gateway.requests).toHaveLength(1);
  });

  test("retry in one tab beside send in the other loses no turn, before and after a reload", async () => {
    const [firstTab, secondTab] = [await tab(), await tab()];
    await firstTab.evaluate(() => page.send("fail"));
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.outcome === "error");
    const release = gateway.hold();
    await firstTab.evaluate(() => page.retry());
    await secondTab.waitForFunction(() => page.state().messages.at(-1)?.outcome === undefined);
    await secondTab.evaluate(() => page.send("And?"));
    await expect.poll(() => gateway.requests.length).toBe(3);
    release();
    const thread = ["fail", "Done", "And?", "Done"];
    await expect.poll(() => texts(secondTab)).toEqual(thread);
    await expect.poll(() => texts(firstTab)).toEqual(thread);
    await secondTab.reload();
    await expect.poll(() => texts(secondTab)).toEqual(thread);
    expect(gateway.requests).toHaveLength(3);
  });
});

/**
 * A gateway and a page on one address. The first `fail` is refused; `stall` gets a part of its response; `call …` calls those
 * tools; all else gets a response.
 */
async function openGateway(html: string) {
  const requests: { role: string; content: unknown }[][] = [];
  let released: Promise<void> | undefined;
  const server: Server = createServer((request, response) => {
    if (request.method !== "POST")
      return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => respond(JSON.parse(body).messages, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, requests, hold, close: () => server.close() };

  /** Holds all requests until the returned function is called. */
  function hold(): () => void {
    let release = () => {};
    released = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  async function respond(
    messages: { role: string; content: unknown }[],
    response: ServerResponse,
  ): Promise<void> {
    requests.push(messages);
    await released;
    const last = String(messages.at(-1)?.content);
    if (last === "fail" && requests.length === 1)
      return void response
        .writeHead(400, { "content-type": "application/json" })
        .end('{"error":{"message":"no"}}');
    if (last === "stall")
      return void response
        .writeHead(200, { "content-type": "text/event-stream" })
        .write(frame({ content: "Half an answer" }));
    const calls = last.startsWith("call ") ? last.match(/asked|endless/g) : null;
    const stream = calls
      ? streamCalls(Object.fromEntries(calls.map((name, index) => [`c${index}`, [name, "{}"] as const])))
      : streamText("Done");
    response.writeHead(200, { "content-type": "text/event-stream" }).end(stream);
  }
}

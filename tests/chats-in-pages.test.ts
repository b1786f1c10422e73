import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAnswer, textAnswer } from "../packages/core/test/support/chat.js";
import { findChromium } from "../scripts/chromium.js";
import { sharedBrowser } from "./support/browser.ts";
import { builtPage } from "./support/built-page.js";
import type { ChatPage } from "./support/chat-page.js";

declare const page: ChatPage;

describe.skipIf(!findChromium())("a chat in real tabs (skipped where there is no Chromium)", () => {
  let browser: Browser;
  let context: BrowserContext;
  let gateway: Awaited<ReturnType<typeof openGateway>>;

  beforeAll(async () => {
    gateway = await openGateway(await builtPage("chat-page.ts"));
    browser = await sharedBrowser();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    gateway.asked.splice(0);
  });
  afterEach(() => context.close());
  afterAll(() => void gateway.close());

  async function tab(): Promise<Page> {
    const opened = await context.newPage();
    await opened.goto(gateway.url);
    await opened.waitForFunction(() => page.state().isRestoring === false);
    return opened;
  }

  const shows = (opened: Page, text: string) =>
    opened.waitForFunction((text) => page.state().messages.at(-1)?.content === text, text);
  const texts = (opened: Page) => opened.evaluate(() => page.state().messages.map(({ content }) => content));

  test("three tabs send the result of one client tool once", async () => {
    const tabs = [await tab(), await tab(), await tab()];
    for (const opened of tabs) await opened.evaluate(() => page.answerAll());
    await tabs[1]?.evaluate(() => page.send("call asked"));
    for (const opened of tabs) await shows(opened, "Done");
    expect(gateway.asked).toHaveLength(2);
    for (const opened of tabs) expect(await texts(opened)).toEqual(["call asked", "", "Done"]);
  });

  test("a call of a tab that crashes is closed in the other, and a call that waits is answered there", async () => {
    const [left, right] = [await tab(), await tab()];
    await left.evaluate(() => page.send("call endless and asked"));
    await right.waitForFunction(() => page.state().messages.at(-1)?.toolCalls?.[0]?.state === "running");
    const session = await context.newCDPSession(left);
    void session.send("Page.crash").catch(() => {});
    await right.waitForFunction(() => page.state().messages.at(-1)?.toolCalls?.[0]?.state === "cancelled");
    expect(await right.evaluate(() => page.state().pendingActions)).toMatchObject([{ toolCallId: "c1" }]);
    await right.evaluate(() => page.addToolResult("c1"));
    await shows(right, "Done");
    expect(gateway.asked).toHaveLength(2);
    await right.reload();
    await shows(right, "Done");
  });

  test("retry in one tab beside send in the other loses no turn, before and after a reload", async () => {
    const [left, right] = [await tab(), await tab()];
    await left.evaluate(() => page.send("fail"));
    await right.waitForFunction(() => page.state().messages.at(-1)?.outcome === "error");
    await Promise.all([left.evaluate(() => page.retry()), right.evaluate(() => page.send("And?"))]);
    for (const opened of [left, right])
      await opened.waitForFunction(() => page.state().messages.at(-1)?.outcome === "complete");
    // whichever came first: the question follows the failed answer, or the one that took its place
    const isKept = (shown: readonly string[]) =>
      shown.join() === "fail,,And?,Done" || shown.join() === "fail,Done,And?,Done";
    expect(await texts(right)).toSatisfy(isKept);
    expect((await texts(left)).slice(0, 2)).toEqual(["fail", "Done"]);
    const versions = await right.evaluate(() => page.state().messages[1]?.branches?.length);
    await right.reload();
    await right.waitForFunction(() => page.state().messages.at(-1)?.outcome === "complete");
    expect(gateway.asked).toHaveLength(3);
    expect(await right.evaluate(() => page.state().messages[1]?.branches?.length)).toBe(versions);
    expect(versions === 2 || (await texts(right)).length === 4).toBe(true);
  });
});

/** A gateway and a page on one address. The first `fail` is refused; `call …` calls those tools; all else is answered. */
async function openGateway(html: string) {
  const asked: { role: string; content: unknown }[][] = [];
  const server: Server = createServer((request, response) => {
    if (request.method !== "POST")
      return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => answer(JSON.parse(body).messages, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, asked, close: () => server.close() };

  function answer(messages: { role: string; content: unknown }[], response: ServerResponse): void {
    asked.push(messages);
    const last = String(messages.at(-1)?.content);
    if (last === "fail" && asked.length === 1)
      return void response
        .writeHead(400, { "content-type": "application/json" })
        .end('{"error":{"message":"no"}}');
    const calls = last.startsWith("call ") ? last.match(/asked|endless/g) : null;
    const stream = calls
      ? callAnswer(Object.fromEntries(calls.map((name, index) => [`c${index}`, [name, "{}"] as const])))
      : textAnswer("Done");
    response.writeHead(200, { "content-type": "text/event-stream" }).end(stream);
  }
}

import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import type { Browser, Frame } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.js";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.js";
import type { SandboxedPage } from "../support/sandboxed-page.js";

declare const page: SandboxedPage;

describe.skipIf(!findChromium())("a sandboxed frame (skipped where there is no Chromium)", () => {
  let browser: Browser;
  let served: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    const html = await buildPage("sandboxed-page.ts");
    const emulator = createEmulator({ apiKeys: ["sk-test"], cors: true, speed: 1000 });
    const pages: Record<string, string> = {
      "/": `<!doctype html><link rel="icon" href="data:,"><iframe sandbox="allow-scripts" src="/framed"></iframe>`,
      "/framed": html,
    };
    const fetch: typeof emulator.fetch = async (input) => {
      const request = new Request(input);
      const shown = pages[new URL(request.url).pathname];
      if (shown === undefined) return emulator.fetch(request);
      return new Response(shown, { headers: { "content-type": "text/html; charset=utf-8" } });
    };
    served = await serve({ ...emulator, fetch }, { port: 0 });
    browser = await getSharedBrowser();
  });
  afterAll(async () => {
    await served.close();
  });

  test("makes videos and chats, and reports each refusal of the browser once", async () => {
    const opened = await browser.newPage();
    const problems: string[] = [];
    opened.on("pageerror", (error) => problems.push(String(error)));
    opened.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await opened.goto(served.url);
    const frame = opened.frame({ url: `${served.url}/framed` }) as Frame;
    await frame.waitForFunction(() => typeof page === "object");
    expect(await frame.evaluate(() => page.origin)).toBe("null");

    await frame.evaluate(() => page.makeVideo());
    await frame.waitForFunction(() => page.video().status !== "pending");
    expect(await frame.evaluate(() => page.video())).toMatchObject({ status: "success" });

    for (const text of ["Hello", "And again"]) {
      await frame.evaluate((text) => page.send(text), text);
      await frame.waitForFunction(
        (text) => page.chat().status === "ready" && page.chat().messages.at(-2)?.content === text,
        text,
      );
    }
    expect(await frame.evaluate(() => page.chat().messages.at(-1)?.outcome)).toBe("complete");
    expect(await frame.evaluate(() => [...page.limits].sort())).toEqual(["indexed-db", "web-locks"]);
    expect(problems).toEqual([]);
    await opened.close();
  });
});

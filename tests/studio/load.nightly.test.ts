import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.ts";
import { MAX_SCRIPT_BYTES, measureCompressedSize, measureFirstScreen } from "../support/first-screen.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";

/* Counts of loads and renders of the built studio: a count is the same on every machine. */

declare global {
  /** Stores a conversation of 200 turns; only in the page of `bench/studio-seed.ts`. */
  var seed: (id: string) => void;
}

describe.skipIf(!findChromium())("the studio's load in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;

  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startQuickStudio({ speed: Number.POSITIVE_INFINITY }),
      getSharedBrowser(),
    ]);
  }, 60_000);
  afterAll(() => server.close());
  beforeEach(async () => {
    studio = await reopenStudio(browser, server.address);
    page = studio.page;
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems).toEqual([]);
  });

  test("loads at most 120 kB of compressed scripts before the user can type", async () => {
    studio.spend();
    const { scripts } = await measureFirstScreen(page, () => page.reload());
    expect(scripts.length).toBeGreaterThan(0);
    expect(await measureCompressedSize(scripts)).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
  });

  test("lets the user type and send before the chat has loaded, and sends the text then", async () => {
    const release = await studio.hold("**/assets/chat-room-*.js");
    await page.reload({ waitUntil: "commit" });
    await studio.field.fill("Hello there");
    await studio.field.press("Enter");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => studio.field.inputValue()).toBe("Hello there");
    await studio.field.press("Enter");
    await studio.field.fill("And then");
    expect(studio.bodies).toEqual([]);
    await release();
    await studio.findReply().waitFor();
    await expect
      .poll(() => studio.bodies.map(({ messages }) => messages))
      .toMatchObject([[{ content: "Hello there" }]]);
    await expect.poll(() => studio.field.inputValue()).toBe("And then");
    await expect.poll(() => studio.field.evaluate((it) => it === document.activeElement)).toBe(true);
  });

  test("moves nothing on the first screen while the chat and the inspector load", async () => {
    const heading = page.getByRole("heading", { level: 2 });
    const release = await studio.hold("**/assets/chat-room-*.js");
    await page.reload({ waitUntil: "commit" });
    await page.getByRole("button", { name: "Stream a response" }).waitFor();
    await page.evaluate(() => document.fonts.ready);
    const before = await heading.boundingBox();
    await release();
    await page
      .getByRole("complementary", { name: "Inspector" })
      .getByText("export function ChatRoom")
      .waitFor();
    expect(await heading.boundingBox()).toEqual(before);
  });

  test("sends the text if Enter is pressed while the chat replaces its field", async () => {
    const release = await studio.hold("**/assets/chat-room-*.js");
    await page.reload({ waitUntil: "commit" });
    await studio.field.fill("Hello there");
    await page.evaluate(pressEnterInNextField);
    await release();
    await expect
      .poll(() => studio.bodies.map(({ messages }) => messages))
      .toMatchObject([[{ content: "Hello there" }]]);
    await expect.poll(() => studio.field.inputValue()).toBe("");
  });

  test("shows the stored draft before the chat is loaded, and changes nothing that is typed there", async () => {
    await studio.field.fill("A draft");
    const release = await studio.hold("**/assets/chat-room-*.js");
    await page.reload({ waitUntil: "commit" });
    await expect.poll(() => studio.field.inputValue()).toBe("A draft");
    await studio.field.press("End");
    await page.keyboard.type(" and more");
    await release();
    await page.getByRole("button", { name: "Settings" }).waitFor();
    expect(await studio.field.inputValue()).toBe("A draft and more");
    await studio.field.press("Enter");
    await expect
      .poll(() => studio.bodies.map(({ messages }) => messages))
      .toMatchObject([[{ content: "A draft and more" }]]);
  });

  test("reads the Markdown of the last screens of a long conversation, and of others when they come near", async () => {
    const html = await buildPage("../../bench/studio-seed.ts");
    await page.route("**/seed.html", (route) => route.fulfill({ contentType: "text/html", body: html }));
    await page.goto(`${server.address}/seed.html`);
    await expect.poll(() => page.evaluate(() => "seed" in globalThis)).toBe(true);
    await page.evaluate(() => globalThis.seed("long"));
    await expect.poll(() => page.evaluate(storedRecords)).toBeGreaterThanOrEqual(400);
    await page.goto(`${server.address}/#/chat/long`);
    const log = page.getByRole("log");
    const replies = log.getByRole("article", { name: "Assistant's message" });
    await expect.poll(() => replies.count()).toBe(200);
    await replies.last().getByRole("table").waitFor();
    await expect.poll(() => replies.last().isVisible()).toBe(true);
    // one table in each response that was read as Markdown
    await expect.poll(() => log.locator("table").count()).toBeLessThanOrEqual(12);
    // the log is reversed: its end is at 0
    await log.evaluate((it) => it.scrollTo(0, -it.scrollHeight));
    await replies.first().getByRole("table").waitFor();
    await expect.poll(() => log.locator("table").count()).toBeLessThanOrEqual(30);
  });

  /** Runs in the page: presses Enter in the field that replaces the present one, before anything else runs. */
  function pressEnterInNextField(): void {
    const present = document.querySelector("textarea");
    const observer = new MutationObserver(() => {
      const next = document.querySelector("textarea");
      if (!next || next === present) return;
      observer.disconnect();
      next.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    });
    observer.observe(document, { childList: true, subtree: true });
  }

  /** Runs in the page: number of the records that the browser keeps. */
  async function storedRecords(): Promise<number> {
    // opening it would create it, empty
    if (!(await indexedDB.databases()).some(({ name }) => name === "sluice/1")) return 0;
    return new Promise((resolve) => {
      const opening = indexedDB.open("sluice/1");
      opening.onerror = () => resolve(0);
      opening.onsuccess = () => {
        const { result } = opening;
        if (!result.objectStoreNames.contains("records")) return resolve(0);
        const counting = result.transaction("records").objectStore("records").count();
        counting.onsuccess = () => {
          result.close();
          resolve(counting.result);
        };
      };
    });
  }
});

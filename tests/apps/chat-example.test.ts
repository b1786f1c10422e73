import type { Served } from "@sluice/emulator/serve";
import type { Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { serveExample } from "../support/example-page.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.skipIf(!findChromium())("the chat example in Chromium (skipped where there is none)", () => {
  let site: Served;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    site = await serveExample("chat");
  });
  afterAll(() => site.close());
  beforeEach(async () => {
    page = await (await getSharedBrowser()).newPage();
    page.on("pageerror", ({ message }) => problems.push(message));
    await page.goto(site.url);
  });
  afterEach(async () => {
    await page.context().close();
    expect(problems).toEqual([]);
  });

  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const lastMessage = () => page.getByRole("list", { name: "Messages" }).getByRole("listitem").last();

  async function sendMessage(text: string) {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await button("Send").click();
  }

  test("stops a response, and keeps what came", async () => {
    await sendMessage("Tell me about rivers [[stall]]");
    await expect.poll(() => lastMessage().innerText()).toMatch(/\w+ \w+ \w+/);
    await button("Stop").click();
    await button("Send").waitFor();
    expect((await lastMessage().innerText()).length).toBeGreaterThan(10);
  });

  test("says in words that a request failed, and tries it again", async () => {
    // the client itself sends it three times
    await sendMessage("Tell me about rivers [[500:3]]");
    await page.getByRole("alert").waitFor();
    await expect.poll(() => page.getByRole("alert").innerText()).not.toMatch(/APIError|undefined/);
    await button("Try again").click();
    await expect.poll(() => page.getByRole("alert").count()).toBe(0);
    await button("Send").waitFor();
  });

  test("has its messages after a reload, and says of a response that this has cut that it is cut", async () => {
    await sendMessage("Tell me about rivers [[stall]]");
    await expect.poll(() => lastMessage().innerText()).toMatch(/\w+ \w+ \w+/);
    await page.reload();
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor();
    await expect.poll(() => lastMessage().innerText()).toMatch(/\w+ \w+ \w+/);
    await expect.poll(() => page.getByRole("listitem").count()).toBe(2);
  });

  test("asks again for a response that had not begun before a reload", async () => {
    const prompts: string[] = [];
    await page.route("**/v1/chat/completions", (route) => prompts.push(route.request().url()));
    await sendMessage("Tell me about rivers");
    await expect.poll(() => prompts.length).toBe(1);
    await page.reload();
    await page.unrouteAll();
    await button("Try again").click();
    await button("Send").waitFor();
    await expect.poll(() => page.getByRole("listitem").count()).toBe(2);
    await expect.poll(() => button("Try again").count()).toBe(0);
  });

  test("says what could not be saved, until it is", async () => {
    const note = page.getByRole("alert").filter({ hasText: "Not all is saved." });
    await page.evaluate(() => {
      const { setItem } = Storage.prototype;
      Object.assign(globalThis, {
        makeRoom() {
          Storage.prototype.setItem = setItem;
        },
      });
      Storage.prototype.setItem = () => {
        throw new DOMException("no room", "QuotaExceededError");
      };
    });
    await sendMessage("Tell me about rivers");
    await note.getByText("Keep this page open: it tries again by itself.").waitFor();
    await page.evaluate(() => (globalThis as unknown as { makeRoom: () => void }).makeRoom());
    await note.waitFor({ state: "detached" });
    await page.reload();
    await expect.poll(() => page.getByRole("listitem").count()).toBe(2);
  });

  test.each(["length", "unconfirmed"])("goes on after a response that ended by %s", async (fault) => {
    await sendMessage(`Tell me about rivers [[${fault}]]`);
    await button("Continue").click();
    await expect.poll(() => page.getByRole("listitem").count()).toBeGreaterThanOrEqual(4);
  });

  test("sends an image, and only to a model that sees", async () => {
    const file = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") };
    await page.getByLabel("Model").selectOption("delta-5.3");
    await page.getByLabel("Add images").setInputFiles(file);
    await button("Remove dot.png").waitFor();
    await expect.poll(() => button("Send").isDisabled()).toBe(true);
    await page.getByLabel("Model").selectOption("alpha-v4.1-flash");
    await sendMessage("What is in it?");
    await expect.poll(() => lastMessage().innerText()).toContain("inline image/png");
    await page.getByRole("img", { name: "Attached" }).waitFor();
  });
});

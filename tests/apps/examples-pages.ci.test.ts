import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Served } from "@sluice/emulator/serve";
import type { Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { serveExample } from "../support/example-page.ts";

/* The pages of the examples, built by their own Vite and opened in Chromium. */

const inChromium = describe.skipIf(!findChromium());

inChromium.each(["vue", "svelte"])("%s in Chromium (skipped where there is none)", (name) => {
  const folder = fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url));
  const problems: string[] = [];
  let site: Served;
  let page: Page;

  beforeAll(async () => {
    const vite = `${folder}node_modules/vite/bin/vite.js`;
    const built = spawnSync(process.execPath, [vite, "build"], { cwd: folder, encoding: "utf8" });
    expect(built.status, built.stderr).toBe(0);
    site = await serveExample(name);
  }, 180_000);
  afterAll(() => site?.close());
  beforeEach(async () => {
    page = await (await getSharedBrowser()).newPage();
    page.on("pageerror", ({ message }) => problems.push(message));
    await page.goto(site.url);
  });
  afterEach(async () => {
    await page.context().close();
    expect(problems).toEqual([]);
  });

  async function sendMessage(text: string) {
    const field = page.getByRole("textbox", { name: "Message" });
    await field.fill(text);
    await field.press("Enter");
  }

  const findReplies = () => page.getByRole("listitem").filter({ hasText: /^assistant .{5,}/ });

  test("shows a failure, and tries again", async () => {
    // the client itself sends it three times
    await sendMessage("Tell me about rivers [[500:3]]");
    await page.getByRole("button", { name: "Try again" }).click();
    await findReplies().waitFor();
    await expect.poll(() => page.getByRole("alert").count()).toBe(0);
  });

  test("keeps a text that is entered during a response, stops the response, and keeps it", async () => {
    await sendMessage("Tell me about rivers [[stall]]");
    await findReplies().waitFor();
    await sendMessage("And then?");
    expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("And then?");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
    await findReplies().waitFor();
  });
});

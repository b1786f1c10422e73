import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";

describe.skipIf(!findChromium())("the shell of the studio in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;

  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startQuickStudio({ speed: Number.POSITIVE_INFINITY }),
      getSharedBrowser(),
    ]);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    studio = await reopenStudio(browser, server.address);
    page = studio.page;
    await title("Chat").waitFor();
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems).toEqual([]);
  });

  const title = (name: string) => page.getByRole("heading", { level: 1, name, exact: true });
  const rail = () => page.getByRole("navigation", { name: "Studio" });
  const theme = () => page.evaluate(() => document.documentElement.dataset["theme"]);

  test("opens every room and command by the keyboard alone", async () => {
    await page.keyboard.press("Control+k");
    const search = page.getByRole("combobox", { name: "Search and commands" });
    await search.waitFor();
    // a group's name finds what is in it
    await page.keyboard.type("break it");
    await page.getByRole("option", { name: /^429/ }).waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("images");
    await page.getByRole("option", { name: "Images", selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await title("Images").waitFor();
    await search.waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+Shift+o");
    await title("Chat").waitFor();
  });

  test("keeps the theme and the panels over a reload", async () => {
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await expect.poll(theme).toBe("dark");
    await page.keyboard.press("Control+b");
    await rail().waitFor({ state: "hidden" });
    await page.getByRole("tab", { name: "State" }).click();
    await page.keyboard.press("Control+.");
    await page.getByRole("complementary", { name: "Inspector" }).waitFor({ state: "detached" });
    await page.reload({ waitUntil: "commit" });
    // set before the first paint, by a script of its own
    await expect.poll(theme).toBe("dark");
    await title("Chat").waitFor();
    await expect.poll(() => rail().isVisible()).toBe(false);
    await expect.poll(() => page.getByRole("complementary", { name: "Inspector" }).count()).toBe(0);
    await page.keyboard.press("Control+.");
    await page.getByRole("tab", { name: "State", selected: true }).waitFor();
  });
});

import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { sharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";

const rooms = ["Chat", "Images", "Videos", "Assets", "Devices"] as const;

describe.skipIf(!findChromium())("the shell of the studio in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;
  /** Messages of the console that a test causes. */
  let expected: RegExp | undefined;

  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startQuickStudio({ speed: Number.POSITIVE_INFINITY }),
      sharedBrowser(),
    ]);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    expected = undefined;
    studio = await reopenStudio(browser, server.address);
    page = studio.page;
    await title("Chat").waitFor();
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems.filter((text) => !expected?.test(text))).toEqual([]);
  });

  const title = (name: string) => page.getByRole("heading", { level: 1, name, exact: true });
  const rail = () => page.getByRole("navigation", { name: "Studio" });
  const visit = (room: string) => rail().getByRole("link", { name: room, exact: true }).click();
  const theme = () => page.evaluate(() => document.documentElement.dataset["theme"]);

  test("shows no empty page between two rooms", async () => {
    await page.evaluate(() => {
      const seen = { empty: 0, frames: 0 };
      const look = () => {
        seen.frames += 1;
        if (![...document.querySelectorAll("main h1")].some((it) => it.checkVisibility())) seen.empty += 1;
        requestAnimationFrame(look);
      };
      look();
      Object.assign(globalThis, { seen });
    });
    for (const room of [...rooms].reverse()) {
      await visit(room);
      await title(room).waitFor();
    }
    const { empty, frames } = await page.evaluate(
      () => (globalThis as unknown as { seen: { empty: number; frames: number } }).seen,
    );
    expect(frames).toBeGreaterThan(0);
    expect(empty).toBe(0);
  });

  test("says that a room could not load, and loads it on a second try", async () => {
    expected = /Failed to load resource|ERR_FAILED|dynamically imported module/;
    const script = /\/videos-room-[^/]*\.js$/;
    await page.route(script, (route) => route.abort());
    // before the page is idle, and loads it by itself
    await page.reload();
    await visit("Videos");
    const alert = page.getByRole("alert");
    await alert.getByText("This room could not load").waitFor();
    await page.unroute(script);
    await alert.getByRole("button", { name: "Try again" }).click();
    await title("Videos").waitFor();
  });

  test("keeps the page without a network, and opens what was pressed when it is back", async () => {
    expected = /Failed to load resource|ERR_INTERNET_DISCONNECTED|dynamically imported module/;
    const context = page.context();
    onTestFinished(() => context.setOffline(false));
    const script = /\/overlays-[^/]*\.js$/;
    await page.route(script, (route) => route.abort("internetdisconnected"));
    // before the page is idle, and loads it by itself
    await page.reload();
    await title("Chat").waitFor();
    await context.setOffline(true);
    await page.keyboard.press("Control+k");
    // other parts may be missing, too
    await page.getByRole("alert").getByText("Could not load.").last().waitFor();
    await title("Chat").waitFor();
    await page.unroute(script);
    await context.setOffline(false);
    await page.getByRole("combobox", { name: "Search and commands" }).waitFor();
    await expect.poll(() => page.getByRole("alert").count()).toBe(0);
  });

  test("puts what is written before the palette is loaded into its field, and gives the focus back", async () => {
    const release = await studio.hold("**/overlays-*.js");
    // before the page is idle, and loads it by itself
    await page.reload();
    await studio.field.focus();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("ima");
    await release();
    const search = page.getByRole("combobox", { name: "Search and commands" });
    await search.waitFor();
    await page.keyboard.type("ges");
    await expect.poll(() => search.inputValue()).toBe("images");
    await page.getByRole("option", { name: "Images", selected: true }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => studio.field.evaluate((it) => it === document.activeElement)).toBe(true);
    await expect.poll(() => studio.field.inputValue()).toBe("");
  });

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

import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { problemsOf } from "../support/axe.ts";
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
  }, 60_000);
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
    expect(await search.inputValue()).toBe("images");
    await page.getByRole("option", { name: "Images", selected: true }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => studio.field.evaluate((it) => it === document.activeElement)).toBe(true);
    expect(await studio.field.inputValue()).toBe("");
  });

  test("keeps the button of a menu that could not load, and opens the menu on a second try", {
    tags: ["long"],
  }, async () => {
    expected = /Failed to load resource|ERR_FAILED|dynamically imported module/;
    const script = /\/popups-[^/]*\.js$/;
    await page.route(script, (route) => route.abort());
    // before the page is idle, and loads it by itself
    await page.reload();
    const model = page.getByRole("button", { name: /^Model: / });
    await model.click();
    const alert = page.getByRole("alert");
    await alert.getByText("Could not load.").waitFor();
    await model.waitFor();
    await page.unroute(script);
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("radiogroup", { name: "Model" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("radiogroup", { name: "Model" }).waitFor({ state: "detached" });
    await expect.poll(() => model.evaluate((it) => it === document.activeElement)).toBe(true);
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
    expect(await rail().isVisible()).toBe(false);
    expect(await page.getByRole("complementary", { name: "Inspector" }).count()).toBe(0);
    await page.keyboard.press("Control+.");
    await page.getByRole("tab", { name: "State", selected: true }).waitFor();
  });

  test("has its sidebar in a drawer on a small screen, which closes when a room is chosen", {
    tags: ["long"],
  }, async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole("button", { name: "Open the sidebar" }).click();
    await visit("Assets");
    await title("Assets").waitFor();
    await rail().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Inspector" }).click();
    await page.getByRole("dialog", { name: "Inspector" }).waitFor();
  });

  test("fits 320 × 256, the size of 400 % zoom: nothing scrolls sideways or is out of reach", {
    tags: ["long"],
  }, async () => {
    await page.setViewportSize({ width: 320, height: 256 });
    for (const room of rooms) {
      await page.goto(`${server.address}/#/${room.toLowerCase()}`);
      await title(room).waitFor();
      const overflow = () =>
        page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      await expect.poll(overflow).toBe(0);
    }
    // beside the room: all of it can be scrolled to
    await page.setViewportSize({ width: 844, height: 256 });
    const end = rail().getByText("No chats yet");
    await rail().hover({ position: { x: 100, y: 20 } });
    await page.mouse.wheel(0, 500);
    await expect.poll(async () => ((await end.boundingBox())?.y ?? 256) + 20).toBeLessThan(256);
  });

  test("marks what is chosen in forced colours, which drop backgrounds", { tags: ["long"] }, async () => {
    await page.emulateMedia({ forcedColors: "active" });
    await visit("Videos");
    await title("Videos").waitFor();
    const chosen = [
      rail().getByRole("link", { name: "Videos", exact: true }),
      page.getByRole("tab", { name: "Code" }),
      page.getByRole("button", { name: "React", exact: true }),
      page.getByRole("button", { name: "1080p" }),
    ];
    for (const one of chosen)
      await expect
        .poll(() =>
          one.evaluate((it) => (it.matches(":focus-visible") ? "2px" : getComputedStyle(it).outlineWidth)),
        )
        .toBe("2px");
    const other = page.getByRole("button", { name: "720p" });
    await expect.poll(() => other.evaluate((it) => getComputedStyle(it).outlineStyle)).toBe("none");
  });

  /** Calls `look` in each room and box, with its name. */
  async function everywhere(look: (place: string) => Promise<void>): Promise<void> {
    for (const room of rooms) {
      await visit(room);
      await title(room).waitFor();
      await look(room);
    }
    for (const view of ["Network", "State"]) {
      await page.getByRole("tab", { name: view }).click();
      await look(view);
    }
    for (const key of ["Control+k", "?"]) {
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor();
      await look(key);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }

  test("gives axe nothing to find", { tags: ["long"] }, async () => {
    studio.spend();
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await everywhere(async (place) => expect.poll(() => problemsOf(page), { message: place }).toEqual([]));
    // the themes differ in colours alone
    await page.emulateMedia({ colorScheme: "dark" });
    await everywhere(async (place) =>
      expect.poll(() => problemsOf(page, ["color-contrast"]), { message: `${place}, dark` }).toEqual([]),
    );
  });
});

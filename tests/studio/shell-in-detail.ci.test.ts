import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findProblems } from "../support/axe.ts";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

const rooms = ["Chat", "Images", "Videos", "Assets"] as const;
/** Wide enough for the inspector. */
const WIDTH = 1280;

describe.skipIf(!hasChromium)("the shell of the studio in Chromium (skipped where there is none)", () => {
  const expected = /Failed to load resource|ERR_FAILED|ERR_INTERNET_DISCONNECTED|dynamically imported module/;
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY }, expected, WIDTH);
  const title = (name: string) => studio.page.getByRole("heading", { level: 1, name, exact: true });
  const rail = () => studio.page.getByRole("navigation", { name: "Studio" });
  const visit = (room: string) => rail().getByRole("link", { name: room, exact: true }).click();
  beforeEach(() => title("Chat").waitFor());

  test("says that a room could not load, and loads it on a second try", async () => {
    const script = /\/videos-room-[^/]*\.js$/;
    await studio.page.route(script, (route) => route.abort());
    // before the page is idle, and loads it by itself
    await studio.page.reload();
    await visit("Videos");
    const alert = studio.page.getByRole("alert");
    await alert.getByText("This room could not load").waitFor();
    await studio.page.unroute(script);
    await alert.getByRole("button", { name: "Try again" }).click();
    await title("Videos").waitFor();
  });

  test("shows no empty page between two rooms", async () => {
    await studio.page.evaluate(() => {
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
    const { empty, frames } = await studio.page.evaluate(
      () => (globalThis as unknown as { seen: { empty: number; frames: number } }).seen,
    );
    expect(frames).toBeGreaterThan(0);
    expect(empty).toBe(0);
  });

  test("keeps the page without a network, and opens what was pressed when it is back", async () => {
    const context = studio.page.context();
    onTestFinished(() => context.setOffline(false));
    const script = /\/overlays-[^/]*\.js$/;
    await studio.page.route(script, (route) => route.abort("internetdisconnected"));
    // before the page is idle, and loads it by itself
    await studio.page.reload();
    await title("Chat").waitFor();
    await context.setOffline(true);
    await studio.page.keyboard.press("Control+k");
    // other parts may be missing, too
    await studio.page.getByRole("alert").getByText("Could not load.").last().waitFor();
    await title("Chat").waitFor();
    await studio.page.unroute(script);
    await context.setOffline(false);
    await studio.page.getByRole("combobox", { name: "Search and commands" }).waitFor();
    await expect.poll(() => studio.page.getByRole("alert").count()).toBe(0);
  });

  test("puts what is written before the palette is loaded into its field, and gives the focus back", async () => {
    const release = await studio.hold("**/overlays-*.js");
    // before the page is idle, and loads it by itself
    await studio.page.reload();
    await studio.field("Message").focus();
    await studio.page.keyboard.press("Control+k");
    await studio.page.keyboard.type("ima");
    await release();
    const search = studio.page.getByRole("combobox", { name: "Search and commands" });
    await search.waitFor();
    await studio.page.keyboard.type("ges");
    await expect.poll(() => search.inputValue()).toBe("images");
    await studio.page.getByRole("option", { name: "Images", selected: true }).waitFor();
    await studio.page.keyboard.press("Escape");
    await expect
      .poll(() => studio.field("Message").evaluate((it) => it === document.activeElement))
      .toBe(true);
    await expect.poll(() => studio.field("Message").inputValue()).toBe("");
  });

  test("keeps the button of a menu that could not load, and opens the menu on a second try", async () => {
    const script = /\/popups-[^/]*\.js$/;
    await studio.page.route(script, (route) => route.abort());
    // before the page is idle, and loads it by itself
    await studio.page.reload();
    const model = studio.page.getByRole("button", { name: /^Model: / });
    await model.click();
    const alert = studio.page.getByRole("alert");
    await alert.getByText("Could not load.").waitFor();
    await model.waitFor();
    await studio.page.unroute(script);
    await alert.getByRole("button", { name: "Try again" }).click();
    await studio.page.getByRole("radiogroup", { name: "Model" }).waitFor();
    await studio.page.keyboard.press("Escape");
    await studio.page.getByRole("radiogroup", { name: "Model" }).waitFor({ state: "detached" });
    await expect.poll(() => model.evaluate((it) => it === document.activeElement)).toBe(true);
  });

  test("has its sidebar in a drawer on a small screen, which closes when a room is chosen", async () => {
    await studio.page.setViewportSize({ width: 390, height: 800 });
    await studio.page.getByRole("button", { name: "Open the sidebar" }).click();
    await visit("Assets");
    await title("Assets").waitFor();
    await rail().waitFor({ state: "detached" });
    await studio.page.getByRole("button", { name: "Inspector" }).click();
    await studio.page.getByRole("dialog", { name: "Inspector" }).waitFor();
  });

  test("fits 320 × 256, the size of 400 % zoom: nothing scrolls sideways or is out of reach", async () => {
    await studio.page.setViewportSize({ width: 320, height: 256 });
    for (const room of rooms) {
      await studio.page.goto(`${studio.address}/#/${room.toLowerCase()}`);
      await title(room).waitFor();
      const overflow = () =>
        studio.page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
      await expect.poll(overflow).toBe(0);
    }
    // beside the room: all of it can be scrolled to
    await studio.page.setViewportSize({ width: 844, height: 256 });
    const end = rail().getByText("No chats yet");
    await rail().hover({ position: { x: 100, y: 20 } });
    await studio.page.mouse.wheel(0, 500);
    await expect.poll(async () => ((await end.boundingBox())?.y ?? 256) + 20).toBeLessThan(256);
  });

  test("marks what is chosen in forced colours, which drop backgrounds", async () => {
    await studio.page.emulateMedia({ forcedColors: "active" });
    await visit("Videos");
    await title("Videos").waitFor();
    const chosen = [
      rail().getByRole("link", { name: "Videos", exact: true }),
      studio.page.getByRole("tab", { name: "Code" }),
      studio.page.getByRole("button", { name: "React", exact: true }),
      studio.page.getByRole("button", { name: "1080p" }),
    ];
    for (const one of chosen)
      await expect
        .poll(() =>
          one.evaluate((it) => (it.matches(":focus-visible") ? "2px" : getComputedStyle(it).outlineWidth)),
        )
        .toBe("2px");
    const other = studio.page.getByRole("button", { name: "720p" });
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
      await studio.page.getByRole("tab", { name: view }).click();
      await look(view);
    }
    for (const key of ["Control+k", "?"]) {
      await studio.page.keyboard.press(key);
      await studio.page.getByRole("dialog").waitFor();
      await look(key);
      await studio.page.keyboard.press("Escape");
      await studio.page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }

  test("gives axe nothing to find", async () => {
    studio.spend();
    await studio.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await everywhere(async (place) =>
      expect.poll(() => findProblems(studio.page), { message: place }).toEqual([]),
    );
    // the themes differ in colours alone
    await studio.page.emulateMedia({ colorScheme: "dark" });
    await everywhere(async (place) =>
      expect
        .poll(() => findProblems(studio.page, ["color-contrast"]), { message: `${place}, dark` })
        .toEqual([]),
    );
  });
});

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
  const nav = () => studio.page.getByRole("navigation", { name: "Rooms" });
  const visit = (room: string) => nav().getByRole("link", { name: room, exact: true }).click();
  beforeEach(() => title("Chat").waitFor());

  test("A room that fails to load says so, and a reload loads it", async () => {
    const script = /\/videos-room-[^/]*\.js$/;
    await studio.page.route(script, (route) => route.abort());
    await studio.page.reload();
    await visit("Videos");
    const alert = studio.page.getByRole("alert");
    await alert.getByText("This part could not load.").waitFor();
    await studio.page.unroute(script);
    await alert.getByRole("button", { name: "Reload" }).click();
    await title("Videos").waitFor();
  });

  test("The palette gives the focus back", async () => {
    await studio.field("Message").focus();
    await studio.page.keyboard.press("Control+k");
    await studio.page.getByRole("combobox", { name: "Search and commands" }).waitFor();
    await studio.page.keyboard.press("Escape");
    await expect
      .poll(() => studio.field("Message").evaluate((it) => it === document.activeElement))
      .toBe(true);
  });

  test("A small screen has the chats in a drawer", async () => {
    await studio.page.setViewportSize({ width: 390, height: 800 });
    await studio.page.getByRole("button", { name: "Close the inspector" }).click();
    await studio.page.getByRole("button", { name: "Chats" }).click();
    const drawer = studio.page.getByRole("dialog", { name: "Chats" });
    await drawer.getByRole("link", { name: "New chat" }).click();
    await drawer.waitFor({ state: "detached" });
  });

  test("320 × 256, the size of 400 % zoom, has no horizontal scroll", async () => {
    await studio.page.keyboard.press("Control+.");
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
  });

  test("Forced colors mark the chosen room, tab and setting", async () => {
    onTestFinished(() => studio.page.emulateMedia({ forcedColors: null }));
    await studio.page.emulateMedia({ forcedColors: "active" });
    await visit("Videos");
    await title("Videos").waitFor();
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    for (const one of [
      nav().getByRole("link", { name: "Videos", exact: true }),
      studio.button("Code"),
      studio.button("1080p"),
    ])
      await expect
        .poll(() =>
          one.evaluate((it) => (it.matches(":focus-visible") ? "2px" : getComputedStyle(it).outlineWidth)),
        )
        .toBe("2px");
    const other = studio.button("720p");
    await expect.poll(() => other.evaluate((it) => getComputedStyle(it).outlineStyle)).toBe("none");
  });

  /** Calls `look` in each room and box, with its name. */
  async function visitAll(look: (name: string) => Promise<void>): Promise<void> {
    for (const room of rooms) {
      await visit(room);
      await title(room).waitFor();
      await look(room);
    }
    await studio.button("Calls").click();
    await look("Calls");
    await studio.page.keyboard.press("Control+k");
    await studio.page.getByRole("dialog").waitFor();
    await look("palette");
    await studio.page.keyboard.press("Escape");
    await studio.page.getByRole("dialog").waitFor({ state: "detached" });
  }

  test("axe finds nothing", async () => {
    studio.spend();
    await studio.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await visitAll(async (name) =>
      expect.poll(() => findProblems(studio.page), { message: name }).toEqual([]),
    );
    // the themes differ in colors alone
    await studio.page.emulateMedia({ colorScheme: "dark" });
    await visitAll(async (name) =>
      expect
        .poll(() => findProblems(studio.page, ["color-contrast"]), { message: `${name}, dark` })
        .toEqual([]),
    );
  });
});

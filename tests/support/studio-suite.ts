import type { Emulator } from "@sluice/emulator";
import type { Browser, Locator, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "./browser.ts";
import { type QuickStudio, type QuickStudioOptions, startQuickStudio } from "./quick-studio.ts";
import { reopenStudio, type StudioPage } from "./studio-page.ts";

export const hasChromium = findChromium() !== undefined;
export const MINUTE = 60_000;
/** One pixel, as a PNG in Base64. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Too narrow for the inspector, which has its own tests. */
const WIDTH = 1100;

/** A room of the studio in a browser, and its gateway. */
export interface StudioSuite {
  readonly page: Page;
  readonly address: string;
  readonly emulator: Emulator;
  /** Time of the gateway's clock since the test began, in milliseconds. */
  ahead: number;
  /** The bodies of the creates that the gateway saw at `path`, in order. */
  readonly created: (path: string) => readonly unknown[];
  /** Reloads the page, accepts its dialogs, and returns their types: `["beforeunload"]` if the page asked. */
  readonly reloadAndListDialogs: () => Promise<readonly string[]>;
  /** Holds requests to these URLs in the browser until the returned function is called. */
  readonly hold: (addresses: string) => Promise<() => Promise<void>>;
  /** Keeps the next test from reusing this tab, because its state can't be undone. */
  readonly spend: () => void;
  readonly button: (name: string, page?: Page) => Locator;
  readonly field: (name: string) => Locator;
}

/**
 * Opens a room of the studio for each test of the suite that calls this, with a new gateway. A test fails if its page
 * reports an unexpected problem. Without a `speed`, the gateway never waits, and its clock does not advance.
 */
export function openRoom(
  room: "chat" | "videos" | "images" | "assets",
  options: QuickStudioOptions = {},
  // the browser logs every response that is not a success
  expected = /Failed to load resource/,
  width = WIDTH,
): StudioSuite {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let ahead = 0;
  let startedAt = Date.now();

  beforeAll(async () => {
    const clock = { now: () => startedAt + ahead, sleep: async () => {} };
    const time = options.speed === undefined ? { clock } : {};
    [server, browser] = await Promise.all([startQuickStudio({ ...time, ...options }), getSharedBrowser()]);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    const print = console.error;
    // the proxy logs a response that the gateway has cut, and an unknown page
    vi.spyOn(console, "error").mockImplementation((...lines) => {
      if (!/^sluice proxy: (502 upstream_|"https:\/\/elsewhere)/.test(String(lines[0]))) print(...lines);
    });
    ahead = 0;
    startedAt = Date.now();
    server.emulator.reset();
    studio = await reopenStudio(browser, `${server.address}/#/${room}`, width);
  });
  afterEach(async () => {
    vi.mocked(console.error).mockRestore();
    await studio.close();
    expect(studio.problems.filter((text) => !expected.test(text))).toEqual([]);
  });

  return {
    get page() {
      return studio.page;
    },
    get address() {
      return server.address;
    },
    get emulator() {
      return server.emulator;
    },
    get ahead() {
      return ahead;
    },
    set ahead(ms) {
      ahead = ms;
    },
    created: (path) => server.created(path),
    reloadAndListDialogs: () => studio.reloadAndListDialogs(),
    hold: (addresses) => studio.hold(addresses),
    spend: () => studio.spend(),
    button: (name, page = studio.page) => page.getByRole("button", { name, exact: true }),
    field: (name) => studio.page.getByRole("textbox", { name, exact: true }),
  };
}

/** Sends a prompt in a new chat, and waits until the reply is complete and listed. */
export async function sendInNewChat({ page, field, button }: StudioSuite, text: string): Promise<void> {
  await page.getByRole("link", { name: "New chat" }).click();
  await page.getByRole("region", { name: "Welcome" }).waitFor();
  await field("Message").fill(text);
  await field("Message").press("Enter");
  await button("Regenerate").waitFor();
  await page.getByRole("navigation", { name: "Chats" }).getByRole("link", { name: text }).waitFor();
}

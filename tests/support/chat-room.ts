import { setTimeout } from "node:timers/promises";
import type { Browser, Locator, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { getSharedBrowser } from "./browser.ts";
import { type QuickStudio, startQuickStudio } from "./quick-studio.ts";
import { reopenStudio, type StudioPage } from "./studio-page.ts";

/** Path of chat requests. */
export const COMPLETIONS = "**/v1/chat/completions";
/** Too narrow for the inspector, which has its own tests. */
export const WIDTH = 1100;

/**
 * Opens the chat of the studio for the suite that calls this: one page for all tests, each in a new chat. Opening a page
 * takes as long as a whole test.
 */
export function openChat() {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;
  let isReusable = false;
  /** Resolves when the test calls `goOn()`. */
  let resumed: Promise<void>;
  const room = {
    get page() {
      return page;
    },
    get studio() {
      return studio;
    },
    /** Console messages that a test expects. All others fail it. */
    expected: undefined as RegExp | undefined,
    /** Number of waits that the gateway ends by itself, for example in a slow reply. Later ones wait for `goOn()`. */
    pauses: Number.POSITIVE_INFINITY,
    goOn: () => {},
  };

  beforeAll(async () => {
    const clock = {
      now: () => Date.now(),
      sleep: async (ms: number) => {
        room.pauses -= 1;
        await (room.pauses < 0 ? resumed : setTimeout(ms / 5));
      },
    };
    const options = { speed: Number.POSITIVE_INFINITY, chat: createDemoScript(), clock };
    [server, browser] = await Promise.all([startQuickStudio(options), getSharedBrowser()]);
  });
  afterAll(async () => {
    await studio?.close();
    await server.close();
  });
  beforeEach(async () => {
    room.expected = undefined;
    room.pauses = Number.POSITIVE_INFINITY;
    resumed = new Promise((resolve) => {
      room.goOn = resolve;
    });
    server.emulator.reset();
    if (!isReusable) studio = await reopenStudio(browser, server.address, WIDTH);
    isReusable = true;
    page = studio.page;
    await page.setViewportSize({ width: WIDTH, height: 800 });
    studio.forget();
    await page.evaluate(() => {
      location.hash = "#/chat";
    });
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  });
  afterEach(async ({ task }) => {
    room.goOn();
    // the page of a failed test may fail the next tests, too
    if (task.result?.state === "fail") {
      isReusable = false;
      studio.spend();
      await studio.close();
    }
    expect(studio.problems.filter((text) => !room.expected?.test(text))).toEqual([]);
  });

  const findButton = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
  const findQuestion = () => page.getByRole("article", { name: "Your message" }).last();
  const findReplies = () => page.getByRole("article", { name: "Assistant's message" });
  const findCard = (tool: string) => page.getByRole("group", { name: tool });
  const findRail = () => page.getByRole("navigation", { name: "Chats" });
  const findEntry = (title: string) => findRail().getByRole("link", { name: title, exact: true });
  const findEntries = () => findRail().getByRole("listitem").getByRole("link").allInnerTexts();

  /** Sends a prompt, and waits for the complete reply. */
  async function sendAndWait(text: string): Promise<void> {
    const before = await findReplies().count();
    await studio.sendMessage(text);
    await findReplies().nth(before).getByRole("button", { name: "Regenerate" }).waitFor();
    await studio.settled();
  }

  /** Does nothing unless an earlier test has turned tools off: the page stores its settings. */
  async function offerTools(): Promise<void> {
    const stored = await page.evaluate(() => localStorage.getItem("sluice-chat") ?? "");
    if (!stored.includes('"offersTools":false')) return;
    await findButton("Settings").click();
    await page.getByRole("switch", { name: "Tools" }).check();
    await page.keyboard.press("Escape");
  }

  async function chooseModel(name: string): Promise<void> {
    await findButton(/^Model: /).click();
    await page.getByRole("radiogroup").getByText(name).click();
    await page.keyboard.press("Escape");
  }

  async function openNewChat(): Promise<void> {
    await findRail().getByRole("link", { name: "New chat" }).first().click();
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  }

  async function actOnChat(action: string): Promise<void> {
    await findRail().locator("[aria-current=page]").hover();
    await findButton(/^Actions for/)
      .filter({ visible: true })
      .first()
      .click();
    await page.getByRole("menuitem", { name: action }).click();
  }

  const actions = { sendAndWait, offerTools, chooseModel, openNewChat, actOnChat };
  return {
    room,
    ...actions,
    findButton,
    findQuestion,
    findReplies,
    findCard,
    findRail,
    findEntry,
    findEntries,
  };
}

/** @module-tag long */
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { problemsOf } from "../support/axe.ts";
import { sharedBrowser } from "../support/browser.ts";
import { type Demo, startDemo } from "../support/demo.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";
import { PNG } from "../support/studio-suite.ts";

const LONG_NOTE = Array.from({ length: 24 }, (_, index) => `word ${index}`).join(" and ");
const COMPLETIONS = "**/v1/chat/completions";

describe.skipIf(!findChromium())("the studio's chat in Chromium (skipped where there is none)", () => {
  let demo: Demo;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;
  /** Messages of the console that a test causes. */
  let expected: RegExp | undefined;

  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(0, 20), sharedBrowser()]);
  }, 60_000);
  afterAll(async () => void (await demo.interrupt()));
  beforeEach(async () => {
    expected = undefined;
    studio = await reopenStudio(browser, demo.address);
    page = studio.page;
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems.filter((text) => !expected?.test(text))).toEqual([]);
  });

  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const question = () => page.getByRole("article", { name: "Your message" }).last();
  const answers = () => page.getByRole("article", { name: "Assistant's answer" });
  const card = (tool: string) => page.getByRole("group", { name: tool });
  const rail = () => page.getByRole("navigation", { name: "Studio" });
  const entry = (title: string) => rail().getByRole("link", { name: title, exact: true });
  const entries = () => rail().getByRole("listitem").getByRole("link").allInnerTexts();

  /** Sends a question, and waits for the whole answer. */
  async function askAndWait(text: string): Promise<void> {
    const before = await answers().count();
    await studio.ask(text);
    await answers().nth(before).getByRole("button", { name: "Regenerate" }).waitFor();
    await studio.settled();
  }

  async function offerTools(): Promise<void> {
    await button("Settings").click();
    await page.getByRole("switch", { name: "Tools" }).check();
    await page.keyboard.press("Escape");
  }

  async function chooseModel(name: string): Promise<void> {
    await button(/^Model: /).click();
    await page.getByRole("radiogroup").getByText(name).click();
    await page.keyboard.press("Escape");
  }

  async function newChat(): Promise<void> {
    await rail().getByRole("link", { name: "New chat" }).click();
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  }

  describe("an answer", () => {
    test("has colored code, a table and a formula, within the policy of the page, and no accessibility problem", async () => {
      await askAndWait("Show me what you can do");
      const code = studio.answer().getByRole("figure", { name: "Code: ts" });
      await expect.poll(() => code.locator("[style*=color]").count()).toBeGreaterThan(20);
      await studio.answer().getByRole("table").waitFor();
      await expect.poll(() => studio.answer().locator(".katex").count()).toBeGreaterThan(3);
      for (const colorScheme of ["light", "dark"] as const) {
        // without motion, so that no color is on its way to another
        await page.emulateMedia({ reducedMotion: "reduce" });
        await page.emulateMedia({ colorScheme });
        await expect.poll(() => problemsOf(page)).toEqual([]);
      }
      await page.emulateMedia({ colorScheme: null, reducedMotion: null });
    });

    test("shows its diagram as an image", async () => {
      await askAndWait("How does a canal lock work?");
      const image = studio.answer().getByRole("img", { name: "Diagram of flowchart" });
      await expect
        .poll(() => image.evaluate((it) => (it as HTMLImageElement).naturalWidth), { timeout: 20_000 })
        .toBeGreaterThan(100);
    });

    test("shows no raw Markdown while it streams", async () => {
      await page.evaluate(() => {
        const seen: string[] = [];
        Object.assign(globalThis, { seen });
        new MutationObserver(() => {
          const text = document.querySelector("article[aria-busy] p, article[aria-busy] li")?.parentElement;
          if (text) seen.push(text.innerText);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
      });
      await askAndWait("Compare SQL and NoSQL");
      const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((text) => /\*\*|^\|.*\|$/m.test(text))).toEqual([]);
    });

    test("goes on after a reload in its middle, and the gateway gets one request", async () => {
      const words = () => studio.answer().locator("p, li, h3").allInnerTexts();
      await studio.ask("[[stall]] Plan a quiet weekend in a town by a river");
      await expect.poll(words).not.toEqual([]);
      await page.reload();
      await studio.answer().getByText("Resumed").waitFor();
      await expect.poll(words).not.toEqual([]);
      await expect.poll(() => studio.seen.join()).toContain("/v1/chat/streams/");
      expect(studio.bodies).toHaveLength(1);
      await studio.field.press("Escape");
      await studio.answer().getByText("Stopped").waitFor();
      await button("Continue").waitFor();
    });

    test("streams in a second tab, too", async () => {
      await studio.ask("[[slow]] Show me what you can do");
      await studio.answer().getByText("Here is one idea").waitFor();
      const tab = await page.context().newPage();
      await tab.goto(page.url());
      const other = tab.getByRole("article", { name: "Assistant's answer" });
      await other.getByText("Answering in another tab").waitFor();
      const length = async () => (await other.innerText()).length;
      const before = await length();
      await expect.poll(length, { timeout: 15_000 }).toBeGreaterThan(before);
      await button("Stop").click();
      await other.getByText("Stopped").waitFor();
    });

    test("that reached its length limit is continued", async () => {
      await askAndWait("[[length]] Write a debounce function in TypeScript");
      await studio.answer().getByText("length limit").waitFor();
      await button("Continue").click();
      await answers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("that failed says so, also after a reload, with one action", async () => {
      await studio.ask("[[error-frame]] Compare SQL and NoSQL");
      const alert = page.getByRole("alert");
      await alert.getByText("The model had an error").waitFor();
      await page.reload();
      await alert.getByText("The model had an error").waitFor();
      const release = await studio.hold(COMPLETIONS);
      await alert.getByRole("button", { name: "Try again" }).click();
      await button("Stop").waitFor();
      await alert.waitFor({ state: "detached" });
      await release();
    });

    test("is requested again after a countdown, which can be cut short", async () => {
      expected = /429/;
      await studio.ask("[[429:2]] How does a canal lock work?");
      await page.getByRole("timer").getByText("Too many requests. Retrying in").waitFor();
      await button("Retry now").click();
      await studio.answer().getByText("an elevator made of water").waitFor({ timeout: 15_000 });
    });
  });

  describe("a tool", () => {
    beforeEach(offerTools);

    test("runs when the model calls it; the steps of the turn are in one box with one row of actions", async () => {
      await studio.ask("Roll three six-sided dice");
      await studio.answer().getByText("For three six-sided dice").waitFor();
      const steps = studio.answer().getByRole("button", { name: "Roll dice · 3 steps" });
      await steps.click();
      await card("Roll dice").getByText("total").waitFor();
      await expect
        .poll(() => card("Roll dice").innerText())
        .toMatch(/count\s+3\s+sides\s+6[\s\S]*Done|Done[\s\S]*count/);
      await button("Regenerate").waitFor();
      expect(await studio.answer().getByRole("button", { name: "Regenerate" }).count()).toBe(1);
    });

    test("that needs approval shows its arguments growing, and runs once approved", async () => {
      await studio.ask(`[[slow]] Keep a note: "${LONG_NOTE}"`);
      const length = () =>
        card("Save a note")
          .innerText()
          .then((text) => text.length);
      await card("Save a note").getByText("word 1").waitFor({ timeout: 15_000 });
      const before = await length();
      await expect.poll(length, { timeout: 15_000 }).toBeGreaterThan(before);
      await button("Approve").waitFor({ timeout: 20_000 });
      await expect.poll(() => problemsOf(page)).toEqual([]);
      expect(studio.bodies).toHaveLength(1);
      await button("Approve").press("Enter");
      await studio.answer().getByText("The page has your note now").waitFor();
      await button("Notes: 1").click();
      await page.getByRole("list", { name: "Notes" }).getByText(LONG_NOTE).waitFor();
    });

    test("that is denied does not run, and the model is told", async () => {
      await studio.ask('Keep a note: "nothing"');
      await button("Deny").click();
      await studio.answer().getByText("nothing was kept").waitFor();
      expect(await button("Notes: 1").count()).toBe(0);
      await expect
        .poll(() => studio.bodies[1]?.messages.at(-1))
        .toMatchObject({ role: "tool", content: expect.stringContaining("did not allow") });
    });

    test("that the user answers is answered on its card, also after a reload", async () => {
      await studio.ask("Help me choose a color for my boat");
      await button("heather").waitFor();
      await page.reload();
      await button("heather").click();
      await studio.answer().getByText("heather it is").waitFor();
    });

    test("is not offered to a model that calls none", async () => {
      await chooseModel("Gamma Chat 1.6");
      await askAndWait("Hello");
      expect(studio.bodies[0]).not.toHaveProperty("tools");
      expect(studio.bodies[0]?.model).toBe("gamma-chat-1-6-251015");
    });
  });

  describe("versions", () => {
    test("of an answer come from Regenerate, and the arrows lead between them", async () => {
      await askAndWait("Hello");
      const release = await studio.hold(COMPLETIONS);
      await studio.answer().getByRole("button", { name: "Regenerate" }).click();
      await button("Stop").click();
      await release();
      await studio.answer().getByText("2/2").waitFor();
      await studio.answer().getByText("Stopped").waitFor();
      await button("Previous version").press("Enter");
      await studio.answer().getByText("1/2").waitFor();
      await studio.answer().getByText("Stopped").waitFor({ state: "detached" });
      await button("Next version").click();
      await studio.answer().getByText("Stopped").waitFor();
    });

    test("of a question come from Edit, each with its own answer", async () => {
      await askAndWait("Hello");
      await button("Edit").press("Enter");
      const editor = page.getByRole("textbox", { name: "Edit your message" });
      await editor.fill("Never mind");
      await editor.press("Escape");
      await expect.poll(() => button("Edit").evaluate((it) => it === document.activeElement)).toBe(true);
      await button("Edit").press("Enter");
      await editor.fill("Thanks");
      await editor.press("Enter");
      await question().getByText("2/2").waitFor();
      await question().getByText("Thanks").waitFor();
      await studio.settled();
      await question().getByRole("button", { name: "Previous version" }).click();
      await question().getByText("Hello").waitFor();
      expect(studio.bodies.map(({ messages }) => messages)).toMatchObject([
        [{ content: "Hello" }],
        [{ content: "Thanks" }],
      ]);
    });
  });

  describe("the composer", () => {
    const previews = () => page.getByRole("list", { name: "Images to send" }).getByRole("img");
    const names = () => previews().evaluateAll((images) => images.map((it) => it.getAttribute("alt")));

    async function pick(...files: string[]): Promise<void> {
      const chooser = page.waitForEvent("filechooser");
      await button("Add images").click();
      const buffer = Buffer.from(PNG, "base64");
      await (await chooser).setFiles(files.map((name) => ({ name, mimeType: "image/png", buffer })));
    }

    /** Does what Ctrl+V and a drop do. */
    async function give(kind: "paste" | "drop", name: string, type: string): Promise<void> {
      await studio.field.evaluate(
        (field, [event, file, mime, data]) => {
          const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
          const given = new DataTransfer();
          given.items.add(new File([bytes], file, { type: mime }));
          const options = { bubbles: true, cancelable: true };
          field.dispatchEvent(
            event === "paste"
              ? new ClipboardEvent("paste", { ...options, clipboardData: given })
              : new DragEvent("drop", { ...options, dataTransfer: given }),
          );
        },
        [kind, name, type, PNG] as const,
      );
    }

    test("takes images from the picker, the clipboard and a drop, and sends those that stay", async () => {
      await pick("river.png", "weir.png");
      await give("paste", "pasted.png", "image/png");
      await give("drop", "dropped.png", "image/png");
      await expect.poll(names).toEqual(["river.png", "weir.png", "pasted.png", "dropped.png"]);
      await button("Remove weir.png").click();
      await button("Remove dropped.png").click();
      await give("drop", "notes.pdf", "application/pdf");
      await page.getByRole("alert").getByText("notes.pdf").waitFor();
      await expect.poll(() => button("Send").isEnabled()).toBe(true);
      await button("Send").click();
      await studio.answer().getByRole("button", { name: "Regenerate" }).waitFor();
      expect(await previews().count()).toBe(0);
      expect(await question().getByRole("list", { name: "Images" }).getByRole("listitem").count()).toBe(2);
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
      expect(studio.bodies[0]?.messages).toEqual([{ role: "user", content: [image, image] }]);
    });

    test("offers another model before an image is sent to one that sees none", async () => {
      await chooseModel("Delta 5.3");
      await pick("river.png");
      await studio.field.fill("What is in this picture?");
      expect(await button("Send").isDisabled()).toBe(true);
      await button("Switch to Alpha 4.1 Flash").click();
      await button("Send").click();
      await studio.answer().getByRole("button", { name: "Regenerate" }).waitFor();
      expect(studio.bodies[0]?.model).toBe("alpha-v4.1-flash");
    });

    test("queues messages during an answer, and drops those that are removed", async () => {
      const release = await studio.hold(COMPLETIONS);
      await studio.ask("Hello");
      await button("Stop").waitFor();
      await studio.ask("Never mind");
      await studio.ask("Thanks");
      const queue = page.getByRole("list", { name: "Queued messages" });
      await queue.getByText("Thanks").waitFor();
      await button("Remove “Never mind”").click();
      await queue.getByText("Never mind").waitFor({ state: "detached" });
      await release();
      await answers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(studio.bodies.map(({ messages }) => messages.at(-1))).toMatchObject([
        { content: "Hello" },
        { content: "Thanks" },
      ]);
    });

    test("keeps a draft for each chat, also over a reload", async () => {
      await askAndWait("Hello");
      await studio.field.fill("And then");
      await newChat();
      await expect.poll(() => studio.field.inputValue()).toBe("");
      await entry("Hello").click();
      await expect.poll(() => studio.field.inputValue()).toBe("And then");
      await page.reload();
      await expect.poll(() => studio.field.inputValue()).toBe("And then");
    });
  });

  describe("conversations", () => {
    test("are listed with the newest question first, and survive a reload", async () => {
      await askAndWait("Hello");
      await newChat();
      await askAndWait("Thanks");
      await expect.poll(entries).toEqual(["Thanks", "Hello"]);
      await page.reload();
      await question().getByText("Thanks").waitFor();
      await entry("Hello").click();
      await question().getByText("Hello").waitFor();
      await expect.poll(() => entry("Hello").getAttribute("aria-current")).toBe("page");
      await expect.poll(() => page.title()).toBe("Hello · Sluice");
      await askAndWait("Hi");
      await expect.poll(entries).toEqual(["Hello", "Thanks"]);
    });

    test("go on with their answer while another is open, and the tab's title says so", async () => {
      await studio.ask("[[stall]] Compare SQL and NoSQL");
      await studio.answer().locator("p").first().waitFor();
      await expect.poll(() => page.title()).toBe("Answering… Compare SQL and NoSQL · Sluice");
      await newChat();
      await rail().getByRole("img", { name: "Answering" }).waitFor();
      await askAndWait("Hello");
      await rail()
        .getByRole("link", { name: /^Compare/ })
        .click();
      await button("Stop").click();
      await studio.answer().getByText("Stopped").waitFor();
      expect(studio.bodies).toHaveLength(2);
    });

    test("are renamed, exported, deleted, and brought back with Undo", async () => {
      await askAndWait("Hello");
      const act = async (name: string) => {
        await button(/^Actions for/).click();
        await page.getByRole("menuitem", { name }).click();
      };
      await act("Rename");
      const title = page.getByRole("textbox", { name: "Title" });
      await title.fill("Greetings");
      await title.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Greetings" }).waitFor();
      const download = page.waitForEvent("download");
      await act("Export Markdown");
      expect((await download).suggestedFilename()).toBe("Greetings.md");
      await act("Delete");
      await page.getByRole("region", { name: "Welcome" }).waitFor();
      await rail().getByText("No chats yet").waitFor();
      await button("Undo").click();
      await question().getByText("Hello").waitFor();
      await entry("Greetings").waitFor();
    });

    test("are the same in another tab", async () => {
      const tab = await page.context().newPage();
      await tab.goto(page.url());
      await askAndWait("Hello");
      await tab.getByRole("link", { name: "Hello", exact: true }).click();
      await tab.getByRole("article", { name: "Assistant's answer" }).getByText("offline emulator").waitFor();
      await button(/^Actions for/).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await tab.getByRole("region", { name: "Welcome" }).waitFor();
    });

    test("are not kept where the browser keeps nothing: the page says so, and answers", async () => {
      studio.spend();
      await page.addInitScript(() => Object.defineProperty(globalThis, "indexedDB", { value: undefined }));
      await page.reload();
      await askAndWait("Hello");
      await page.getByText("does not keep your chats").waitFor();
      await studio.answer().getByText("offline emulator").waitFor();
    });
  });

  test("two models answer one question side by side", async () => {
    await button("Compare models").click();
    await page.getByText("Ask both models one question").first().waitFor();
    await studio.ask("Hello");
    await expect.poll(() => button("Regenerate").count()).toBe(2);
    expect(studio.bodies.map(({ model }) => model).sort()).toEqual(["alpha-v4.1-flash", "delta-5.3"]);
    await expect.poll(() => problemsOf(page)).toEqual([]);
    await button("Close").click();
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  });

  test("a long question is shown in part, and the messages have half of a small screen", async () => {
    const text = Array.from({ length: 40 }, (_, line) => `Line ${line} of a long question`).join("\n");
    await studio.ask(text);
    await studio.answer().getByRole("button", { name: "Regenerate" }).waitFor();
    const height = async () => (await question().boundingBox())?.height ?? 0;
    expect(await height()).toBeLessThan(450);
    await button("Show more").click();
    await expect.poll(height).toBeGreaterThan(700);
    for (const size of [
      { width: 390, height: 460 },
      { width: 320, height: 256 },
    ]) {
      await page.setViewportSize(size);
      const log = page.getByRole("log");
      await expect
        .poll(async () => (await log.boundingBox())?.height ?? 0)
        .toBeGreaterThanOrEqual(size.height / 2);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
    }
  });
});

/** @module-tag long */
import type { Browser } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../scripts/chromium.ts";
import { sharedBrowser } from "./support/browser.ts";
import { type Demo, startDemo } from "./support/demo.ts";
import { reopenStudio, type StudioPage } from "./support/studio-page.ts";

/** One pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG_NOTE = Array.from({ length: 60 }, (_, index) => `word ${index}`).join(" and ");

describe.skipIf(!findChromium())("the studio's chat in Chromium (skipped where there is none)", () => {
  let demo: Demo;
  let browser: Browser;
  let studio: StudioPage;

  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(0, 10), sharedBrowser()]);
  }, 60_000);
  afterAll(async () => void (await demo.interrupt()));
  beforeEach(async () => {
    studio = await reopenStudio(browser, demo.address);
    // for speed: studio.test.ts has the thinking
    await studio.page.getByRole("switch", { name: "Thinking" }).uncheck();
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems).toEqual([]);
  });

  const button = (name: string) => studio.page.getByRole("button", { name, exact: true });
  const question = () => studio.page.getByRole("article", { name: "Your message" }).last();
  const card = (tool: string) => studio.page.getByRole("region", { name: `Tool ${tool}` });
  const argumentsOf = (tool: string) => card(tool).getByRole("table", { name: "Arguments" });
  const entry = (title: string | RegExp) =>
    studio.page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: title });

  /** Asks, and waits for the whole answer, which has its numbers at its end. */
  async function askAndWait(text: string): Promise<void> {
    const answers = studio.page.getByRole("article", { name: "Assistant's answer" });
    const before = await answers.count();
    await studio.ask(text);
    await answers.nth(before).getByRole("button", { name: "Regenerate" }).waitFor();
    await studio.settled();
  }

  describe("a tool", () => {
    beforeEach(async () => {
      await studio.page.getByRole("switch", { name: "Tools" }).check();
    });

    test("runs when the model calls it, and its result is shown", async () => {
      await askAndWait("Use roll_dice with 3 dice of 6 sides");
      expect(await argumentsOf("roll_dice").innerText()).toMatch(/count\s+3\s+sides\s+6/);
      expect(await card("roll_dice").innerText()).toMatch(/done[\s\S]*total/);
      expect(await studio.answer().innerText()).toContain("roll_dice says");
    });

    test("that needs approval shows its arguments growing, and runs once approved", async () => {
      await studio.ask(`[[slow]] Use save_note to keep "${LONG_NOTE}"`);
      const length = () =>
        argumentsOf("save_note")
          .innerText()
          .then((text) => text.length);
      let last = 0;
      for (let step = 0; step < 3; step += 1) {
        await expect.poll(length, { interval: 20, timeout: 15_000 }).toBeGreaterThan(last);
        last = await length();
      }
      expect(last).toBeLessThan(LONG_NOTE.length);
      await button("Approve").waitFor();
      expect(await argumentsOf("save_note").innerText()).toContain(LONG_NOTE);
      expect(await studio.page.getByRole("status").innerText()).toMatch(/save_note waits for your approval/);
      expect(studio.bodies).toHaveLength(1);
      await button("Approve").focus();
      await studio.page.keyboard.press("Enter");
      await studio.answer().getByText("save_note says").waitFor();
      expect(await card("save_note").innerText()).toMatch(/done/);
      expect(await studio.page.getByRole("region", { name: "Notes" }).innerText()).toContain(LONG_NOTE);
    });

    test("that is denied does not run, and the model is told", async () => {
      await studio.ask('Use save_note to keep "nothing"');
      await button("Deny").click();
      await studio.answer().getByText("did not allow").waitFor();
      expect(await card("save_note").innerText()).toMatch(/denied by you/);
      expect(await studio.page.getByRole("region", { name: "Notes" }).count()).toBe(0);
      await expect
        .poll(() => studio.bodies[1]?.messages.at(-1))
        .toMatchObject({ role: "tool", content: expect.stringContaining("did not allow") });
    });

    test("that only a person can answer is answered on its card, also after a reload", async () => {
      await studio.ask("Use pick_color for the boat");
      await button("heather").waitFor();
      await studio.page.reload();
      await button("heather").click();
      await studio.answer().getByText("pick_color says").waitFor();
      expect(await studio.answer().innerText()).toContain("heather");
      expect(await card("pick_color").innerText()).toMatch(/done/);
    });

    test("is not offered to a model that calls none", async () => {
      await studio.page.getByRole("combobox", { name: "Model" }).selectOption("gamma-chat-1-6-251015");
      expect(await studio.page.getByRole("switch", { name: "Tools" }).isDisabled()).toBe(true);
      await askAndWait("Use roll_dice");
      expect(studio.bodies[0]).not.toHaveProperty("tools");
    });
  });

  describe("versions", () => {
    test("regenerating puts another beside the answer, and the arrows lead between them", async () => {
      await askAndWait("Hello");
      const release = await studio.hold("**/v1/chat/completions");
      await button("Regenerate").click();
      await button("Stop").click();
      await release();
      await studio.answer().getByText("2/2").waitFor();
      expect(await studio.answer().innerText()).toContain("Stopped");
      expect(await button("Next version").isDisabled()).toBe(true);
      await button("Previous version").press("Enter");
      await studio.answer().getByText("1/2").waitFor();
      expect(await studio.answer().innerText()).not.toContain("Stopped");
      expect(await button("Previous version").isDisabled()).toBe(true);
      expect(await button("Previous version").evaluate((it) => it === document.activeElement)).toBe(true);
      await button("Next version").click();
      await studio.answer().getByText("Stopped").waitFor();
    });

    test("editing puts another beside the question, with an answer of its own", async () => {
      await askAndWait("Hello");
      await button("Edit").press("Enter");
      const editor = studio.page.getByRole("textbox", { name: "Edit your message" });
      await editor.fill("Never mind");
      await editor.press("Escape");
      expect(await question().innerText()).toContain("Hello");
      await expect.poll(() => button("Edit").evaluate((it) => it === document.activeElement)).toBe(true);
      await button("Edit").press("Enter");
      await editor.fill("Good morning");
      await editor.press("Enter");
      await button("Stop").waitFor();
      await studio.settled();
      expect(await question().innerText()).toMatch(/Good morning[\s\S]*2\/2/);
      await question().getByRole("button", { name: "Previous version" }).click();
      expect(await question().innerText()).toMatch(/Hello[\s\S]*1\/2/);
      expect(studio.bodies.map(({ messages }) => messages)).toMatchObject([
        [{ content: "Hello" }],
        [{ content: "Good morning" }],
      ]);
    });
  });

  describe("images", () => {
    const previews = () => studio.page.getByRole("list", { name: "Images to send" }).getByRole("listitem");

    async function pick(...names: string[]): Promise<void> {
      const chooser = studio.page.waitForEvent("filechooser");
      await button("Add images").click();
      const buffer = Buffer.from(PNG, "base64");
      await (await chooser).setFiles(names.map((name) => ({ name, mimeType: "image/png", buffer })));
    }

    /** What Ctrl+V and a drop give a page. */
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

    test("picked, pasted and dropped are shown before and after they are sent", async () => {
      await studio.page.evaluate(countObjectURLs);
      await pick("river.png", "weir.png");
      await give("paste", "pasted.png", "image/png");
      await give("drop", "dropped.png", "image/png");
      expect(await previews().allInnerTexts()).toMatchObject(
        ["river", "weir", "pasted", "dropped"].map((name) => expect.stringContaining(`${name}.png`)),
      );
      await button("Remove weir.png").click();
      await button("Remove dropped.png").click();
      await studio.ask("");
      await studio.answer().getByText("You sent me 2 images").waitFor();
      expect(await previews().count()).toBe(0);
      expect(await studio.page.evaluate(() => document.documentElement.dataset["objectUrls"])).toBe("0");
      const sent = question().getByRole("list", { name: "Images" }).getByRole("img");
      const widths = await sent.evaluateAll((images) =>
        images.map((image) => (image as HTMLImageElement).naturalWidth),
      );
      expect(widths).toEqual([1, 1]);
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
      expect(studio.bodies[0]?.messages).toEqual([{ role: "user", content: [image, image] }]);
    });

    test("are not taken for a model that sees none, or that are none: the page says why", async () => {
      await give("drop", "notes.pdf", "application/pdf");
      expect(await studio.page.getByRole("alert").innerText()).toContain("notes.pdf");
      await studio.page.getByRole("combobox", { name: "Model" }).selectOption("delta-5.3");
      await give("paste", "pasted.png", "image/png");
      expect(await studio.page.getByRole("alert").innerText()).toMatch(
        /delta-5\.3 sees no images; alpha-v4\.1-flash/,
      );
      expect(await previews().count()).toBe(0);
    });

    test("that can't be sent come back with the text, and the reason", async () => {
      await pick("river.png");
      await studio.page.getByRole("combobox", { name: "Model" }).selectOption("delta-5.3");
      await studio.ask("What is this?");
      await studio.page.getByText("Not sent.").waitFor();
      expect(await studio.field.inputValue()).toBe("What is this?");
      expect(await previews().count()).toBe(1);
      expect(studio.bodies).toEqual([]);
    });
  });

  describe("conversations", () => {
    test("survive a reload, each with what was said in it", async () => {
      await askAndWait("Hello");
      await button("New chat").click();
      await askAndWait("Good morning");
      await studio.page.reload();
      await question().getByText("Good morning").waitFor();
      expect(await entry(/./).allInnerTexts()).toEqual(["Good morning", "Hello"]);
      await entry("Hello").click();
      await question().getByText("Hello").waitFor();
      expect(await studio.answer().innerText()).toMatch(/Hi there|Hello/i);
      expect(await entry("Hello").getAttribute("aria-current")).toBe("page");
      await studio.page.goBack();
      await question().getByText("Good morning").waitFor();
    });

    test("come first in the list when something is asked in them, under the title of their first question", async () => {
      await askAndWait("Hello");
      await button("New chat").click();
      await askAndWait("Good morning");
      await entry("Hello").click();
      await question().getByText("Hello").waitFor();
      await askAndWait("Good evening");
      expect(await entry(/./).allInnerTexts()).toEqual(["Hello", "Good morning"]);
    });

    test("go on with their answer while another is open", async () => {
      await studio.ask("Tell me of rivers [[slow]]");
      await studio.answer().getByRole("heading").first().waitFor();
      await button("New chat").click();
      await studio.page.getByRole("heading", { name: "Open the gate." }).waitFor();
      await entry(/rivers.*answering/).waitFor();
      await askAndWait("Hello");
      await entry(/^Tell me of rivers/).click();
      await studio.settled();
      expect(await studio.answer().innerText()).not.toMatch(/stopped|interrupted/i);
      expect(studio.bodies).toHaveLength(2);
    });

    test("whose page is loaded again in mid-answer go on with it, and the gateway is asked once", async () => {
      const words = () => studio.answer().locator("p, li, h4").allInnerTexts();
      await studio.ask("Tell me of rivers [[stall]]");
      await expect.poll(words).not.toEqual([]);
      await studio.page.reload();
      await button("Stop").waitFor();
      await expect.poll(words).not.toEqual([]);
      expect(await studio.answer().innerText()).not.toMatch(/stopped|interrupted/i);
      await expect.poll(() => studio.seen.join()).toContain("/v1/chat/streams/");
      expect(studio.bodies).toHaveLength(1);
      await button("Stop").click();
      await studio.answer().getByText("Stopped").waitFor();
    });

    test("show a failed answer as failed after a reload too, with a way out", async () => {
      await studio.ask("Hello [[error-frame]]");
      await studio.page.getByRole("alert").waitFor();
      await studio.page.reload();
      const alert = studio.page.getByRole("alert");
      await alert.getByText("This answer failed.").waitFor();
      await alert.getByRole("button", { name: "Try again" }).click();
      await alert.getByText("The gateway broke off with an error.").waitFor();
    });

    test("are renamed, and deleted for good", async () => {
      await askAndWait("Hello");
      await button("Rename").click();
      await studio.page.getByRole("textbox", { name: "Title" }).fill("Greetings");
      await studio.page.getByRole("textbox", { name: "Title" }).press("Enter");
      await askAndWait("Good morning");
      expect(await entry(/./).allInnerTexts()).toEqual(["Greetings"]);
      await button("Delete").click();
      await button("Keep").click();
      await button("Delete").click();
      await button("Delete").click();
      await studio.page.getByRole("heading", { name: "Open the gate." }).waitFor();
      expect(await entry(/./).count()).toBe(0);
      await studio.page.goBack();
      await studio.page.reload();
      await studio.page.getByRole("heading", { name: "Open the gate." }).waitFor();
      expect(await entry(/./).count()).toBe(0);
    });

    test("are the same in another tab", async () => {
      const tab = await studio.page.context().newPage();
      await tab.goto(studio.page.url());
      // the thread is read, and what happens from now on is heard
      await tab.getByRole("heading", { name: "Open the gate." }).waitFor();
      await studio.ask("Tell me of rivers [[slow]]");
      await tab.getByText("This answer is coming in another tab.").waitFor();
      await tab.getByRole("link", { name: "Tell me of rivers" }).waitFor();
      await tab.getByRole("button", { name: "Regenerate" }).waitFor();
      expect(await tab.getByText("This answer is coming in another tab.").count()).toBe(0);
      expect(await tab.getByRole("article", { name: "Assistant's answer" }).innerText()).toMatch(/river/i);
      await studio.page.bringToFront();
      await button("Delete").click();
      await button("Delete").click();
      await tab.getByText("What you ask is listed here.").waitFor();
      await tab.getByRole("heading", { name: "Open the gate." }).waitFor();
    });

    test("are not kept where the browser keeps nothing: the page says so, and answers", async () => {
      studio.spend();
      await studio.page.addInitScript(() =>
        Object.defineProperty(globalThis, "indexedDB", { value: undefined }),
      );
      await studio.page.reload();
      await studio.page.getByText("This browser keeps nothing").waitFor();
      await askAndWait("Hello");
      expect(await studio.answer().innerText()).toMatch(/Hi there|Hello/i);
      await entry("Hello").waitFor();
    });

    test("keep what is being written in each", async () => {
      await askAndWait("Hello");
      await studio.field.fill("And then");
      await button("New chat").click();
      await studio.page.getByRole("heading", { name: "Open the gate." }).waitFor();
      expect(await studio.field.inputValue()).toBe("");
      await entry("Hello").click();
      await question().waitFor();
      expect(await studio.field.inputValue()).toBe("And then");
    });

    test("are in a drawer where there is no room, and Escape shuts it without stopping the answer", async () => {
      await studio.page.setViewportSize({ width: 360, height: 740 });
      await studio.ask("Tell me of rivers [[stall]]");
      await button("Stop").waitFor();
      await button("Conversations").click();
      await entry(/rivers.*answering/).waitFor();
      await studio.page.keyboard.press("Escape");
      await entry(/rivers/).waitFor({ state: "hidden" });
      expect(await button("Stop").count()).toBe(1);
      const overflow = await studio.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow).toBeLessThanOrEqual(0);
    });
  });
});

/** Runs in the page: how many object URLs are held is from then on told by the document. */
function countObjectURLs(): void {
  const { createObjectURL, revokeObjectURL } = URL;
  const held = new Set<string>();
  const tell = () => document.documentElement.setAttribute("data-object-urls", String(held.size));
  URL.createObjectURL = (file) => {
    const url = createObjectURL.call(URL, file);
    held.add(url);
    tell();
    return url;
  };
  URL.revokeObjectURL = (url) => {
    held.delete(url);
    tell();
    revokeObjectURL.call(URL, url);
  };
}

/** @module-tag long */
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { sharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";
import { PNG } from "../support/studio-suite.ts";

const LONG_NOTE = Array.from({ length: 24 }, (_, index) => `word ${index}`).join(" and ");
const COMPLETIONS = "**/v1/chat/completions";
/** Too narrow for the inspector, whose tests are elsewhere. */
const WIDTH = 1100;

/* One page for all tests, each in a new chat: a page of its own would cost a test as much as all that it does. */
describe.skipIf(!findChromium())("the studio's chat in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  let page: Page;
  /** Messages of the console that a test causes. */
  let expected: RegExp | undefined;
  let isFresh = false;
  /** Number of pauses of the gateway, such as those of a slow answer, until it waits for `goOn()`. */
  let pauses: number;
  let held: Promise<void>;
  let goOn: () => void;

  beforeAll(async () => {
    const clock = {
      now: () => Date.now(),
      sleep: async (ms: number) => {
        pauses -= 1;
        await (pauses < 0 ? held : setTimeout(ms / 5));
      },
    };
    const options = { speed: Number.POSITIVE_INFINITY, chat: createDemoScript(), clock };
    [server, browser] = await Promise.all([startQuickStudio(options), sharedBrowser()]);
  }, 60_000);
  afterAll(async () => {
    await studio?.close();
    await server.close();
  });
  beforeEach(async () => {
    expected = undefined;
    pauses = Number.POSITIVE_INFINITY;
    held = new Promise((resolve) => {
      goOn = resolve;
    });
    server.emulator.reset();
    if (!isFresh) studio = await reopenStudio(browser, server.address, WIDTH);
    isFresh = true;
    page = studio.page;
    await page.setViewportSize({ width: WIDTH, height: 800 });
    studio.forget();
    await page.evaluate(() => {
      location.hash = "#/chat";
    });
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  });
  afterEach(async ({ task }) => {
    goOn();
    // what a failed test leaves behind would fail the others, too
    if (task.result?.state === "fail") {
      isFresh = false;
      studio.spend();
      await studio.close();
    }
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

  /** Does nothing where a test before it has done it: the page keeps its settings. */
  async function offerTools(): Promise<void> {
    const kept = await page.evaluate(() => localStorage.getItem("sluice-chat") ?? "");
    if (kept.includes('"offersTools":true')) return;
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
    await rail().getByRole("link", { name: "New chat" }).first().click();
    await page.getByRole("region", { name: "Welcome" }).waitFor();
  }

  async function actOnChat(action: string): Promise<void> {
    await rail().locator("[aria-current=page]").hover();
    await button(/^Actions for/)
      .filter({ visible: true })
      .first()
      .click();
    await page.getByRole("menuitem", { name: action }).click();
  }

  describe("an answer", () => {
    test("has colored code, a table and a formula, within the policy of the page", async () => {
      await askAndWait("Show me what you can do");
      const code = studio.answer().getByRole("figure", { name: "Code: ts" });
      await expect.poll(() => code.locator("[style*=color]").count()).toBeGreaterThan(20);
      await studio.answer().getByRole("table").waitFor();
      await expect.poll(() => studio.answer().locator(".katex").count()).toBeGreaterThan(3);
    });

    test("Code has the colors of the theme that is chosen, and of the system where none is", async () => {
      studio.spend();
      await page.emulateMedia({ colorScheme: "light" });
      await askAndWait("Show me what you can do");
      const code = studio.answer().getByRole("figure", { name: "Code: ts" });
      const word = code.locator("span[style*=color]").getByText("interface", { exact: true });
      const color = () => word.evaluate((it) => getComputedStyle(it).color);
      const light = await color();
      await button("Theme: system").click();
      await button("Theme: light").click();
      await button("Theme: dark").waitFor();
      const dark = await color();
      expect(dark).not.toBe(light);
      await button("Theme: dark").click();
      await expect.poll(color).toBe(light);
      await page.emulateMedia({ colorScheme: "dark" });
      await expect.poll(color).toBe(dark);
      await button("Theme: system").click();
      await button("Theme: light").waitFor();
      await expect.poll(color).toBe(light);
    });

    test("An answer in JSON is shown as code", async () => {
      const turn = async () => {
        await button("Settings").click();
        await page.getByRole("switch", { name: "JSON mode" }).click();
        await page.keyboard.press("Escape");
      };
      await turn();
      await askAndWait("Name three rivers as JSON");
      await studio.answer().getByRole("figure", { name: "Code: json" }).getByText("rivers").waitFor();
      await turn();
    });

    test("shows its diagram as an image", async () => {
      await askAndWait("How does a canal lock work?");
      const image = studio.answer().getByRole("img", { name: "Diagram of flowchart" });
      await expect
        .poll(() => image.evaluate((it) => (it as HTMLImageElement).naturalWidth), { timeout: 20_000 })
        .toBeGreaterThan(100);
    });

    test("keeps a place for its formulas and its diagram until they can be drawn", async () => {
      const release = await studio.hold("**/{assets/formula-math-*.js,diagram.html}");
      await page.reload();
      await askAndWait("Show me what you can do");
      const formula = studio.answer().getByRole("img", { name: "Formula" });
      await formula.first().waitFor();
      expect(await studio.answer().innerText()).not.toMatch(/\$|\\\w/);
      await askAndWait("How does a canal lock work?");
      await studio.answer().getByRole("img", { name: "Diagram", exact: true }).waitFor();
      expect(await studio.answer().getByRole("figure", { name: "Code: mermaid" }).count()).toBe(0);
      await release();
      await studio.answer().getByRole("img", { name: "Diagram of flowchart" }).waitFor();
      await answers().first().locator(".katex").first().waitFor();
      await formula.first().waitFor({ state: "detached" });
    });

    test("keeps its end in view where the page gets lower, and its place behind another room; Home and End scroll", async () => {
      await askAndWait("Show me what you can do");
      const log = page.getByRole("log");
      const below = () => log.evaluate((it) => Math.round(it.scrollHeight - it.scrollTop - it.clientHeight));
      await expect.poll(below).toBeLessThanOrEqual(1);
      await page.setViewportSize({ width: WIDTH, height: 460 });
      await expect.poll(below).toBeLessThanOrEqual(1);
      await log.focus();
      await page.keyboard.press("Home");
      await expect.poll(() => log.evaluate((it) => it.scrollTop)).toBe(0);
      await button("Jump to latest").waitFor();
      await rail().getByRole("link", { name: "Images", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Images" }).waitFor();
      await entry("Show me what you can do").first().click();
      await log.waitFor();
      await button("Jump to latest").waitFor();
      expect(await log.evaluate((it) => it.scrollTop)).toBe(0);
      await log.focus();
      await page.keyboard.press("End");
      await expect.poll(below).toBeLessThanOrEqual(1);
      await button("Jump to latest").waitFor({ state: "hidden" });
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
      await askAndWait("[[slow]] Say ‘small steps’ in Chinese, Arabic and Hindi");
      const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((text) => /\*\*|^\|.*\|$/m.test(text))).toEqual([]);
    });

    test("streams in a second tab, too; its end and the chat's are there as well", async () => {
      await askAndWait("Hello");
      const tab = await page.context().newPage();
      await tab.goto(page.url());
      const other = tab.getByRole("article", { name: "Assistant's answer" });
      await other.getByText("offline emulator").waitFor();
      pauses = 200;
      await studio.ask("[[slow]] Say 'small steps' in Chinese, Arabic and Hindi");
      await other.last().getByText("Answering in another tab").waitFor();
      await other.last().getByRole("table").waitFor();
      const length = async () => (await other.last().innerText()).length;
      const before = await length();
      goOn();
      await expect.poll(length).toBeGreaterThan(before);
      await other.last().getByText("Answering in another tab").waitFor({ state: "detached" });
      await studio.settled();
      await studio.ask("[[stall]] How does a canal lock work?");
      await other.last().getByText("Answering in another tab").waitFor();
      await button("Stop").click();
      await other.last().getByText("Stopped").waitFor();
      // behind another, a tab draws no more than a frame a second
      await page.bringToFront();
      await actOnChat("Delete");
      await tab.getByRole("region", { name: "Welcome" }).waitFor();
      await tab.close();
    });

    test("A silent answer says for how long, until it is stopped", async () => {
      await studio.ask("[[stall]] Explain the quadratic formula");
      await studio.answer().locator("p").first().waitFor();
      await page.evaluate(() => {
        const { now } = Date;
        let ahead = 0;
        const pass = () => {
          ahead += 10_000;
        };
        Object.assign(Date, { now: () => now() + ahead, pass, back: () => Object.assign(Date, { now }) });
      });
      // more text may come at first: the silence begins with the last of it
      const pass = async () => {
        await page.evaluate("Date.pass()");
        return (await studio.answer().getByRole("timer").allInnerTexts()).join();
      };
      await expect.poll(pass, { interval: 1500 }).toMatch(/^No new text for \d\d s/);
      await page.evaluate("Date.back()");
      await button("Stop").click();
      await studio.answer().getByText("Stopped").waitFor();
      expect(await page.getByRole("timer").count()).toBe(0);
    });

    test("An answer that reached its length limit is continued", async () => {
      await askAndWait("[[length]] Write a debounce function in TypeScript");
      await studio.answer().getByText("length limit").waitFor();
      await button("Continue").click();
      await answers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("An answer without a finish_reason may be incomplete, and is continued", async () => {
      await askAndWait("[[unconfirmed]] Write a debounce function in TypeScript");
      await studio.answer().getByText("may be incomplete").waitFor();
      await button("Continue").click();
      await answers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("An answer that was cut within a table or a bold word is continued as Markdown", async () => {
      for (const [stored, rest] of [
        ["| Part | Use |\n| --- | --- |\n| Sill | keeps", " boats off |\n| Beam | turns |\n\nThat is it."],
        ["It is **made", " of water**.\n\nThat is it."],
      ] as const) {
        const parts = [stored, rest];
        await page.route(COMPLETIONS, (route) => {
          const isCut = parts.length === 2;
          const chunk = { choices: [{ index: 0, delta: { content: parts.shift() } }] };
          const end = { choices: [{ index: 0, delta: {}, finish_reason: isCut ? "length" : "stop" }] };
          const events = [chunk, end].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
          return route.fulfill({ contentType: "text/event-stream", body: `${events}data: [DONE]\n\n` });
        });
        await newChat();
        await askAndWait("Hello");
        await button("Continue").click();
        await studio.answer().getByText("That is it.").waitFor();
        expect(await studio.answer().innerText()).not.toMatch(/\*\*|\|/);
        await page.unroute(COMPLETIONS);
      }
      await answers().first().getByText("made").waitFor();
    });

    test("A failed answer says so, also after a reload, with one action", async () => {
      await studio.ask("[[error-frame]] A quiet weekend in a town by a river, please");
      const alert = page.getByRole("alert");
      await alert.getByText("The model had an error").waitFor();
      expect(await button("Regenerate").count()).toBe(0);
      // it ends in front of a word in bold
      expect(await studio.answer().locator("p").first().innerText()).toMatch(/^Two days[^*]+$/);
      await page.reload();
      await alert.getByText("The model had an error").waitFor();
      const release = await studio.hold(COMPLETIONS);
      await alert.getByRole("button", { name: "Try again" }).click();
      await button("Stop").waitFor();
      await alert.waitFor({ state: "detached" });
      await release();
    });

    test("A question that a server on this machine may have got without a network may have cost something", async () => {
      expected = /Failed to load resource/;
      await page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })");
      await page.route("**/v1/chat/completions", (route) => route.abort("connectionreset"));
      await studio.ask("Hello");
      await page.getByRole("alert").getByText("charged").waitFor();
      await page.unroute("**/v1/chat/completions");
    });

    test("is requested again after a countdown, which can be cut short", async () => {
      expected = /429/;
      // long enough to look at it: the client waits for as long as the gateway says
      const refusal = { status: 429, headers: { "retry-after": "25" }, json: { error: { message: "no" } } };
      await page.route(COMPLETIONS, (route) => route.fulfill(refusal), { times: 1 });
      await studio.ask("How does a canal lock work?");
      await page.getByRole("timer").getByText("Too many requests. Retrying in").waitFor();
      await button("Retry now").click();
      await studio.answer().getByText("an elevator made of water").waitFor();
    });
  });

  describe("a tool", () => {
    test("runs when the model calls it; the steps of the turn are in one box with one row of actions", async () => {
      await offerTools();
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

    test("shows its arguments while they come", async () => {
      await offerTools();
      await studio.ask(`[[stall]] Keep a note: "${LONG_NOTE}"`);
      await card("Save a note").getByText("word 0").waitFor();
      expect(await button("Approve").count()).toBe(0);
      await button("Stop").click();
      await studio.answer().getByText("Stopped").waitFor();
    });

    test("A tool that needs approval runs once approved, by the keyboard", async () => {
      await offerTools();
      await studio.ask(`Keep a note: "${LONG_NOTE}"`);
      await button("Approve").waitFor();
      expect(await button("Regenerate").count()).toBe(0);
      expect(studio.bodies).toHaveLength(1);
      await button("Approve").press("Enter");
      await studio.answer().getByText("The page has your note now").waitFor();
      await button("Notes: 1").click();
      await page.getByRole("list", { name: "Notes" }).getByText(LONG_NOTE).waitFor();
      await page.keyboard.press("Escape");
    });

    test("A denied tool does not run, and the model is told", async () => {
      await offerTools();
      await studio.ask('Keep a note: "nothing"');
      await button("Deny").click();
      await studio.answer().getByText("nothing was kept").waitFor();
      expect(await button("Notes: 2").count()).toBe(0);
      await expect
        .poll(() => studio.bodies[1]?.messages.at(-1))
        .toMatchObject({ role: "tool", content: expect.stringContaining("did not allow") });
    });

    test("A tool that the user answers is answered on its card, also after a reload", async () => {
      await offerTools();
      await studio.ask("Help me choose a color for my boat");
      await button("heather").waitFor();
      await page.reload();
      await button("heather").click();
      await studio.answer().getByText("heather it is").waitFor();
    });

    test("is not offered to a model that calls none", async () => {
      await offerTools();
      await chooseModel("Gamma Chat 1.6");
      await askAndWait("Hello");
      expect(studio.bodies[0]).not.toHaveProperty("tools");
      expect(studio.bodies[0]?.model).toBe("gamma-chat-1-6-251015");
      await chooseModel("Alpha 4.1 Flash");
    });
  });

  describe("versions", () => {
    test("Regenerate makes versions of an answer, and the arrows lead between them", async () => {
      await askAndWait("Hello");
      const release = await studio.hold(COMPLETIONS);
      await button("Regenerate").click();
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

    test("The cost of a conversation counts the versions that are not shown, too", async () => {
      const words = page.locator("p", { hasText: /^Imaginary cost \d/ });
      const amount = async () => Number(/[\d.]+/.exec((await words.textContent()) ?? "")?.[0]);
      await askAndWait("Hello");
      await words.waitFor();
      const first = await amount();
      await button("Regenerate").click();
      await studio.answer().getByText("2/2").waitFor();
      await expect.poll(amount).toBeGreaterThan(first);
      await studio.settled();
      const both = await amount();
      await button("Previous version").press("Enter");
      await studio.answer().getByText("1/2").waitFor();
      expect(await amount()).toBe(both);
    });

    test("What a message will cost stands below it, with all that goes with it, by the settings", async () => {
      const words = page.locator("form p", { hasText: "Imaginary cost" });
      const text = "a".repeat(10_000);
      // the settings are those of the browser: a test before may have left them
      await button("Settings").click();
      await page.getByRole("switch", { name: "Tools" }).uncheck();
      await page.keyboard.press("Escape");
      await studio.field.fill(text);
      // a token for each byte of what is written, 300 coins for a million
      const bytes = JSON.stringify({ messages: [{ content: ["", text] }] }).length;
      const most = ((bytes * 300) / 1_000_000).toLocaleString("en", { maximumSignificantDigits: 3 });
      const perAnswer = "0.9 coins for 1,000 tokens of the answer";
      await page.getByText(`Imaginary cost: at most ${most} coins to send, ${perAnswer}`).waitFor();
      await askAndWait("Hello");
      const amount = async () => Number(/[\d.]+/.exec((await words.textContent()) ?? "")?.[0]);
      await expect.poll(amount).toBeLessThan(Number(most));
      const afterOne = await amount();
      await askAndWait("Hello");
      await expect.poll(amount).toBeGreaterThan(afterOne);
      await button("Settings").click();
      await page.getByRole("switch", { name: "Tools" }).check();
      await words
        .getByText(/^Imaginary cost: [\d.]+ coins to send, more with tools, 0.9 coins for/)
        .waitFor();
      await page.getByRole("switch", { name: "Tools" }).uncheck();
      await page.keyboard.press("Escape");
      await page.getByText(/^Imaginary cost: at most/).waitFor();
    });

    test("Edit makes versions of a question, each with its own answer", async () => {
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
      // by the keyboard, as the list of shortcuts says
      await studio.field.press("ArrowUp");
      await page.getByRole("textbox", { name: "Edit your message" }).press("Escape");
      await button("Edit").waitFor();
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
      // its bytes are those of a picture
      await page.getByText("“notes.pdf” is broken.").waitFor();
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
      await expect.poll(() => button("Send").isDisabled()).toBe(true);
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

    test("gets back what waits for an answer that is stopped", async () => {
      const release = await studio.hold(COMPLETIONS);
      await studio.ask("Hello");
      await button("Stop").waitFor();
      await studio.ask("Thanks");
      await studio.ask("Never mind");
      await studio.field.fill("And then");
      await button("Stop").click();
      await expect.poll(() => studio.field.inputValue()).toBe("And then\n\nThanks\n\nNever mind");
      await release();
      await studio.field.fill("");
    });

    test("keeps a draft for each chat, also over a reload", async () => {
      await askAndWait("A chat with a draft");
      await studio.field.fill("And then");
      await newChat();
      await expect.poll(() => studio.field.inputValue()).toBe("");
      await entry("A chat with a draft").click();
      await expect.poll(() => studio.field.inputValue()).toBe("And then");
      await page.reload();
      await expect.poll(() => studio.field.inputValue()).toBe("And then");
    });
  });

  describe("conversations", () => {
    test("are listed with the newest question first, and survive a reload", async () => {
      const newest = async () => (await entries()).slice(0, 2);
      await askAndWait("First of two");
      await newChat();
      await askAndWait("Second of two");
      await expect.poll(newest).toEqual(["Second of two", "First of two"]);
      await page.reload();
      await question().getByText("Second of two").waitFor();
      await entry("First of two").click();
      await question().getByText("First of two").waitFor();
      await expect.poll(() => entry("First of two").getAttribute("aria-current")).toBe("page");
      await expect.poll(() => page.title()).toBe("First of two · Sluice");
      await askAndWait("Hi");
      await expect.poll(newest).toEqual(["First of two", "Second of two"]);
    });

    test("go on with their answer while another is open, and the tab's title says so", async () => {
      await studio.ask("[[stall]] Plan a quiet weekend");
      await studio.answer().locator("p").first().waitFor();
      await expect.poll(() => page.title()).toBe("Answering… Plan a quiet weekend · Sluice");
      await newChat();
      await rail().getByRole("img", { name: "Answering" }).waitFor();
      await askAndWait("Hello");
      await rail()
        .getByRole("link", { name: /^Plan a quiet weekend/ })
        .click();
      await button("Stop").click();
      await studio.answer().getByText("Stopped").waitFor();
      expect(studio.bodies).toHaveLength(2);
    });

    test("are found by the words of an answer, shown without the signs of Markdown", async () => {
      await askAndWait("Compare SQL and NoSQL");
      await page.keyboard.press("Control+k");
      await page.keyboard.type("foreign keys");
      const found = page.getByRole("option", { name: "Compare SQL and NoSQL", selected: true });
      await found.getByText("joins and foreign keys nest the data").waitFor();
      expect(await found.innerText()).not.toMatch(/[*|`]/);
      expect(await page.getByText("Nothing found").count()).toBe(0);
      await page.keyboard.press("Escape");
    });

    test("are renamed, exported, deleted, and brought back with Undo", async () => {
      await askAndWait("Hello");
      await actOnChat("Rename");
      const title = page.getByRole("textbox", { name: "Title" });
      await title.fill("Greetings");
      await title.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Greetings" }).waitFor();
      const download = page.waitForEvent("download");
      await actOnChat("Export Markdown");
      expect((await download).suggestedFilename()).toBe("Greetings.md");
      await actOnChat("Delete");
      await page.getByRole("region", { name: "Welcome" }).waitFor();
      await entry("Greetings").waitFor({ state: "detached" });
      // by keyboard: a message that is in motion can't be clicked
      await button("Undo").focus();
      await page.keyboard.press("Enter");
      await question().getByText("Hello").waitFor();
      await entry("Greetings").waitFor();
    });
  });

  test("two models answer one question side by side", async () => {
    await button("Compare models").click();
    await page.getByText("Ask both models one question").first().waitFor();
    await studio.ask("Hello");
    await expect.poll(() => button("Regenerate").count()).toBe(2);
    const numbers = page.getByRole("list", { name: "Statistics" }).first();
    await expect.poll(() => numbers.evaluate((it) => getComputedStyle(it).opacity)).toBe("1");
    expect(studio.bodies.map(({ model }) => model).sort()).toEqual([
      "alpha-v4.1-flash",
      "gamma-chat-1-6-251015",
    ]);
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

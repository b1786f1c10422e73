import { describe, expect, test } from "vitest";
import { COMPLETIONS, openChat, WIDTH } from "../support/chat-room.ts";
import { hasChromium, PNG } from "../support/studio-suite.ts";

const LONG_NOTE = Array.from({ length: 24 }, (_, index) => `word ${index}`).join(" and ");

describe.skipIf(!hasChromium)("the studio's chat in Chromium (skipped where there is none)", () => {
  const {
    room,
    askAndWait,
    offerTools,
    chooseModel,
    openNewChat,
    actOnChat,
    findButton,
    findQuestion,
    findAnswers,
    findCard,
    findRail,
    findEntry,
  } = openChat();

  describe("an answer", () => {
    test("has colored code, a table and a formula, within the policy of the page", async () => {
      await askAndWait("Show me what you can do");
      const code = room.studio.answer().getByRole("figure", { name: "Code: ts" });
      await expect.poll(() => code.locator("[style*=color]").count()).toBeGreaterThan(20);
      await room.studio.answer().getByRole("table").waitFor();
      await expect.poll(() => room.studio.answer().locator(".katex").count()).toBeGreaterThan(3);
    });

    test("is requested again after a countdown, which can be cut short", async () => {
      room.expected = /429/;
      // long enough to look at it: the client waits for as long as the gateway says
      const refusal = { status: 429, headers: { "retry-after": "25" }, json: { error: { message: "no" } } };
      await room.page.route(COMPLETIONS, (route) => route.fulfill(refusal), { times: 1 });
      await room.studio.ask("How does a canal lock work?");
      await room.page.getByRole("timer").getByText("Too many requests. Retrying in").waitFor();
      await findButton("Retry now").click();
      await room.studio.answer().getByText("an elevator made of water").waitFor();
    });

    test("Code has the colors of the theme that is chosen, and of the system where none is", async () => {
      room.studio.spend();
      await room.page.emulateMedia({ colorScheme: "light" });
      await askAndWait("Show me what you can do");
      const code = room.studio.answer().getByRole("figure", { name: "Code: ts" });
      const word = code.locator("span[style*=color]").getByText("interface", { exact: true });
      const color = () => word.evaluate((it) => getComputedStyle(it).color);
      const light = await color();
      await findButton("Theme: system").click();
      await findButton("Theme: light").click();
      await findButton("Theme: dark").waitFor();
      const dark = await color();
      expect(dark).not.toBe(light);
      await findButton("Theme: dark").click();
      await expect.poll(color).toBe(light);
      await room.page.emulateMedia({ colorScheme: "dark" });
      await expect.poll(color).toBe(dark);
      await findButton("Theme: system").click();
      await findButton("Theme: light").waitFor();
      await expect.poll(color).toBe(light);
    });

    test("An answer in JSON is shown as code", async () => {
      const turn = async () => {
        await findButton("Settings").click();
        await room.page.getByRole("switch", { name: "JSON mode" }).click();
        await room.page.keyboard.press("Escape");
      };
      await turn();
      await askAndWait("Name three rivers as JSON");
      await room.studio.answer().getByRole("figure", { name: "Code: json" }).getByText("rivers").waitFor();
      await turn();
    });

    test("shows its diagram as an image", async () => {
      await askAndWait("How does a canal lock work?");
      const image = room.studio.answer().getByRole("img", { name: "Diagram of flowchart" });
      await expect
        .poll(() => image.evaluate((it) => (it as HTMLImageElement).naturalWidth), { timeout: 20_000 })
        .toBeGreaterThan(100);
    });

    test("keeps a place for its formulas and its diagram until they can be drawn", async () => {
      const release = await room.studio.hold("**/{assets/formula-math-*.js,diagram.html}");
      await room.page.reload();
      await askAndWait("Show me what you can do");
      const formula = room.studio.answer().getByRole("img", { name: "Formula" });
      await formula.first().waitFor();
      await expect.poll(() => room.studio.answer().innerText()).not.toMatch(/\$|\\\w/);
      await askAndWait("How does a canal lock work?");
      await room.studio.answer().getByRole("img", { name: "Diagram", exact: true }).waitFor();
      await expect
        .poll(() => room.studio.answer().getByRole("figure", { name: "Code: mermaid" }).count())
        .toBe(0);
      await release();
      await room.studio.answer().getByRole("img", { name: "Diagram of flowchart" }).waitFor();
      await findAnswers().first().locator(".katex").first().waitFor();
      await formula.first().waitFor({ state: "detached" });
    });

    test("keeps its end in view where the page gets lower, and its place behind another room; Home and End scroll", async () => {
      await askAndWait("Show me what you can do");
      const log = room.page.getByRole("log");
      const below = () => log.evaluate((it) => Math.round(it.scrollHeight - it.scrollTop - it.clientHeight));
      await expect.poll(below).toBeLessThanOrEqual(1);
      await room.page.setViewportSize({ width: WIDTH, height: 460 });
      await expect.poll(below).toBeLessThanOrEqual(1);
      await log.focus();
      await room.page.keyboard.press("Home");
      await expect.poll(() => log.evaluate((it) => it.scrollTop)).toBe(0);
      await findButton("Jump to latest").waitFor();
      await findRail().getByRole("link", { name: "Images", exact: true }).click();
      await room.page.getByRole("heading", { level: 1, name: "Images" }).waitFor();
      await findEntry("Show me what you can do").first().click();
      await log.waitFor();
      await findButton("Jump to latest").waitFor();
      expect(await log.evaluate((it) => it.scrollTop)).toBe(0);
      await log.focus();
      await room.page.keyboard.press("End");
      await expect.poll(below).toBeLessThanOrEqual(1);
      await findButton("Jump to latest").waitFor({ state: "hidden" });
    });

    test("shows no raw Markdown while it streams", async () => {
      await room.page.evaluate(() => {
        const seen: string[] = [];
        Object.assign(globalThis, { seen });
        new MutationObserver(() => {
          const text = document.querySelector("article[aria-busy] p, article[aria-busy] li")?.parentElement;
          if (text) seen.push(text.innerText);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
      });
      await askAndWait("[[slow]] Say ‘small steps’ in Chinese, Arabic and Hindi");
      const seen = await room.page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((text) => /\*\*|^\|.*\|$/m.test(text))).toEqual([]);
    });

    test("streams in a second tab, too; its end and the chat's are there as well", async () => {
      await askAndWait("Hello");
      const tab = await room.page.context().newPage();
      await tab.goto(room.page.url());
      const other = tab.getByRole("article", { name: "Assistant's answer" });
      await other.getByText("offline emulator").waitFor();
      room.pauses = 200;
      await room.studio.ask("[[slow]] Say 'small steps' in Chinese, Arabic and Hindi");
      await other.last().getByText("Answering in another tab").waitFor();
      await other.last().getByRole("table").waitFor();
      const length = async () => (await other.last().innerText()).length;
      const before = await length();
      room.goOn();
      await expect.poll(length).toBeGreaterThan(before);
      await other.last().getByText("Answering in another tab").waitFor({ state: "detached" });
      await room.studio.settled();
      await room.studio.ask("[[stall]] How does a canal lock work?");
      await other.last().getByText("Answering in another tab").waitFor();
      await findButton("Stop").click();
      await other.last().getByText("Stopped").waitFor();
      // behind another, a tab draws no more than a frame a second
      await room.page.bringToFront();
      await actOnChat("Delete");
      await tab.getByRole("region", { name: "Welcome" }).waitFor();
      await tab.close();
    });

    test("A silent answer says for how long, until it is stopped", async () => {
      await room.studio.ask("[[stall]] Explain the quadratic formula");
      await room.studio.answer().locator("p").first().waitFor();
      await room.page.evaluate(() => {
        const { now } = Date;
        let ahead = 0;
        const pass = () => {
          ahead += 10_000;
        };
        Object.assign(Date, { now: () => now() + ahead, pass, back: () => Object.assign(Date, { now }) });
      });
      // more text may come at first: the silence begins with the last of it
      const pass = async () => {
        await room.page.evaluate("Date.pass()");
        return (await room.studio.answer().getByRole("timer").allInnerTexts()).join();
      };
      await expect.poll(pass, { interval: 1500 }).toMatch(/^No new text for \d\d s/);
      await room.page.evaluate("Date.back()");
      await findButton("Stop").click();
      await room.studio.answer().getByText("Stopped").waitFor();
      await expect.poll(() => room.page.getByRole("timer").count()).toBe(0);
    });

    test("An answer that reached its length limit is continued", async () => {
      await askAndWait("[[length]] Write a debounce function in TypeScript");
      await room.studio.answer().getByText("length limit").waitFor();
      await findButton("Continue").click();
      await findAnswers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("An answer without a finish_reason may be incomplete, and is continued", async () => {
      await askAndWait("[[unconfirmed]] Write a debounce function in TypeScript");
      await room.studio.answer().getByText("may be incomplete").waitFor();
      await findButton("Continue").click();
      await findAnswers().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("An answer that was cut within a table or a bold word is continued as Markdown", async () => {
      for (const [stored, rest] of [
        ["| Part | Use |\n| --- | --- |\n| Sill | keeps", " boats off |\n| Beam | turns |\n\nThat is it."],
        ["It is **made", " of water**.\n\nThat is it."],
      ] as const) {
        const parts = [stored, rest];
        await room.page.route(COMPLETIONS, (route) => {
          const isCut = parts.length === 2;
          const chunk = { choices: [{ index: 0, delta: { content: parts.shift() } }] };
          const end = { choices: [{ index: 0, delta: {}, finish_reason: isCut ? "length" : "stop" }] };
          const events = [chunk, end].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
          return route.fulfill({ contentType: "text/event-stream", body: `${events}data: [DONE]\n\n` });
        });
        await openNewChat();
        await askAndWait("Hello");
        await findButton("Continue").click();
        await room.studio.answer().getByText("That is it.").waitFor();
        await expect.poll(() => room.studio.answer().innerText()).not.toMatch(/\*\*|\|/);
        await room.page.unroute(COMPLETIONS);
      }
      await findAnswers().first().getByText("made").waitFor();
    });

    test("A question that a server on this machine may have got without a network may have cost something", async () => {
      room.expected = /Failed to load resource/;
      await room.page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })");
      await room.page.route("**/v1/chat/completions", (route) => route.abort("connectionreset"));
      await room.studio.ask("Hello");
      await room.page.getByRole("alert").getByText("charged").waitFor();
      await room.page.unroute("**/v1/chat/completions");
    });
  });

  describe("a tool", () => {
    test("runs when the model calls it; the steps of the turn are in one box with one row of actions", async () => {
      await offerTools();
      await room.studio.ask("Roll three six-sided dice");
      await room.studio.answer().getByText("For three six-sided dice").waitFor();
      const steps = room.studio.answer().getByRole("button", { name: "Roll dice · 3 steps" });
      await steps.click();
      await findCard("Roll dice").getByText("total").waitFor();
      await expect
        .poll(() => findCard("Roll dice").innerText())
        .toMatch(/count\s+3\s+sides\s+6[\s\S]*Done|Done[\s\S]*count/);
      await findButton("Regenerate").waitFor();
      await expect
        .poll(() => room.studio.answer().getByRole("button", { name: "Regenerate" }).count())
        .toBe(1);
    });

    test("shows its arguments while they come", async () => {
      await offerTools();
      await room.studio.ask(`[[stall]] Keep a note: "${LONG_NOTE}"`);
      await findCard("Save a note").getByText("word 0").waitFor();
      await expect.poll(() => findButton("Approve").count()).toBe(0);
      await findButton("Stop").click();
      await room.studio.answer().getByText("Stopped").waitFor();
    });

    test("A denied tool does not run, and the model is told", async () => {
      await offerTools();
      await room.studio.ask('Keep a note: "nothing"');
      await findButton("Deny").click();
      await room.studio.answer().getByText("nothing was kept").waitFor();
      await expect.poll(() => findButton("Notes: 2").count()).toBe(0);
      await expect
        .poll(() => room.studio.bodies[1]?.messages.at(-1))
        .toMatchObject({ role: "tool", content: expect.stringContaining("did not allow") });
    });

    test("A tool that the user answers is answered on its card, also after a reload", async () => {
      await offerTools();
      await room.studio.ask("Help me choose a color for my boat");
      await findButton("heather").waitFor();
      await room.page.reload();
      await findButton("heather").click();
      await room.studio.answer().getByText("heather it is").waitFor();
    });

    test("is not offered to a model that calls none", async () => {
      await offerTools();
      await chooseModel("Gamma Chat 1.6");
      await askAndWait("Hello");
      expect(room.studio.bodies[0]).not.toHaveProperty("tools");
      expect(room.studio.bodies[0]?.model).toBe("gamma-chat-1-6-251015");
      await chooseModel("Alpha 4.1 Flash");
    });
  });

  describe("versions", () => {
    test("The cost of a conversation counts the versions that are not shown, too", async () => {
      const words = room.page.locator("p", { hasText: /^Imaginary cost \d/ });
      const amount = async () => Number(/[\d.]+/.exec((await words.textContent()) ?? "")?.[0]);
      await askAndWait("Hello");
      await words.waitFor();
      const first = await amount();
      await findButton("Regenerate").click();
      await room.studio.answer().getByText("2/2").waitFor();
      await expect.poll(amount).toBeGreaterThan(first);
      await room.studio.settled();
      const both = await amount();
      await findButton("Previous version").press("Enter");
      await room.studio.answer().getByText("1/2").waitFor();
      expect(await amount()).toBe(both);
    });

    test("What a message will cost stands below it, with all that goes with it, by the settings", async () => {
      const words = room.page.locator("form p", { hasText: "Imaginary cost" });
      const text = "a".repeat(10_000);
      // the settings are those of the browser: a test before may have left them
      await findButton("Settings").click();
      await room.page.getByRole("switch", { name: "Tools" }).uncheck();
      await room.page.keyboard.press("Escape");
      await room.studio.field.fill(text);
      // a token for each byte of what is written, 300 coins for a million
      const bytes = JSON.stringify({ messages: [{ content: ["", text] }] }).length;
      const most = ((bytes * 300) / 1_000_000).toLocaleString("en", { maximumSignificantDigits: 3 });
      const perAnswer = "0.9 coins for 1,000 tokens of the answer";
      await room.page.getByText(`Imaginary cost: at most ${most} coins to send, ${perAnswer}`).waitFor();
      await askAndWait("Hello");
      const amount = async () => Number(/[\d.]+/.exec((await words.textContent()) ?? "")?.[0]);
      await expect.poll(amount).toBeLessThan(Number(most));
      const afterOne = await amount();
      await askAndWait("Hello");
      await expect.poll(amount).toBeGreaterThan(afterOne);
      await findButton("Settings").click();
      await room.page.getByRole("switch", { name: "Tools" }).check();
      await words
        .getByText(/^Imaginary cost: [\d.]+ coins to send, more with tools, 0.9 coins for/)
        .waitFor();
      await room.page.getByRole("switch", { name: "Tools" }).uncheck();
      await room.page.keyboard.press("Escape");
      await room.page.getByText(/^Imaginary cost: at most/).waitFor();
    });

    test("Edit makes versions of a question, each with its own answer", async () => {
      await askAndWait("Hello");
      await findButton("Edit").press("Enter");
      const editor = room.page.getByRole("textbox", { name: "Edit your message" });
      await editor.fill("Never mind");
      await editor.press("Escape");
      await expect.poll(() => findButton("Edit").evaluate((it) => it === document.activeElement)).toBe(true);
      await findButton("Edit").press("Enter");
      await editor.fill("Thanks");
      await editor.press("Enter");
      await findQuestion().getByText("2/2").waitFor();
      await findQuestion().getByText("Thanks").waitFor();
      await room.studio.settled();
      await findQuestion().getByRole("button", { name: "Previous version" }).click();
      await findQuestion().getByText("Hello").waitFor();
      expect(room.studio.bodies.map(({ messages }) => messages)).toMatchObject([
        [{ content: "Hello" }],
        [{ content: "Thanks" }],
      ]);
      // by the keyboard, as the list of shortcuts says
      await room.studio.field.press("ArrowUp");
      await room.page.getByRole("textbox", { name: "Edit your message" }).press("Escape");
      await findButton("Edit").waitFor();
    });
  });

  describe("the composer", () => {
    async function pick(...files: string[]): Promise<void> {
      const chooser = room.page.waitForEvent("filechooser");
      await findButton("Add images").click();
      const buffer = Buffer.from(PNG, "base64");
      await (await chooser).setFiles(files.map((name) => ({ name, mimeType: "image/png", buffer })));
    }

    test("offers another model before an image is sent to one that sees none", async () => {
      await chooseModel("Delta 5.3");
      await pick("river.png");
      await room.studio.field.fill("What is in this picture?");
      await expect.poll(() => findButton("Send").isDisabled()).toBe(true);
      await findButton("Switch to Alpha 4.1 Flash").click();
      await findButton("Send").click();
      await room.studio.answer().getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[0]?.model).toBe("alpha-v4.1-flash");
    });

    test("gets back what waits for an answer that is stopped", async () => {
      const release = await room.studio.hold(COMPLETIONS);
      await room.studio.ask("Hello");
      await findButton("Stop").waitFor();
      await room.studio.ask("Thanks");
      await room.studio.ask("Never mind");
      await room.studio.field.fill("And then");
      await findButton("Stop").click();
      await expect.poll(() => room.studio.field.inputValue()).toBe("And then\n\nThanks\n\nNever mind");
      await release();
      await room.studio.field.fill("");
    });

    test("keeps a draft for each chat, also over a reload", async () => {
      await askAndWait("A chat with a draft");
      await room.studio.field.fill("And then");
      await openNewChat();
      await expect.poll(() => room.studio.field.inputValue()).toBe("");
      await findEntry("A chat with a draft").click();
      await expect.poll(() => room.studio.field.inputValue()).toBe("And then");
      await room.page.reload();
      await expect.poll(() => room.studio.field.inputValue()).toBe("And then");
    });
  });

  describe("conversations", () => {
    test("go on with their answer while another is open, and the tab's title says so", async () => {
      await room.studio.ask("[[stall]] Plan a quiet weekend");
      await room.studio.answer().locator("p").first().waitFor();
      await expect.poll(() => room.page.title()).toBe("Answering… Plan a quiet weekend · Sluice");
      await openNewChat();
      await findRail().getByRole("img", { name: "Answering" }).waitFor();
      await askAndWait("Hello");
      await findRail()
        .getByRole("link", { name: /^Plan a quiet weekend/ })
        .click();
      await findButton("Stop").click();
      await room.studio.answer().getByText("Stopped").waitFor();
      expect(room.studio.bodies).toHaveLength(2);
    });

    test("are found by the words of an answer, shown without the signs of Markdown", async () => {
      await askAndWait("Compare SQL and NoSQL");
      await room.page.keyboard.press("Control+k");
      await room.page.keyboard.type("foreign keys");
      const found = room.page.getByRole("option", { name: "Compare SQL and NoSQL", selected: true });
      await found.getByText("joins and foreign keys nest the data").waitFor();
      await expect.poll(() => found.innerText()).not.toMatch(/[*|`]/);
      await expect.poll(() => room.page.getByText("Nothing found").count()).toBe(0);
      await room.page.keyboard.press("Escape");
    });

    test("are renamed, exported, deleted, and brought back with Undo", async () => {
      await askAndWait("Hello");
      await actOnChat("Rename");
      const title = room.page.getByRole("textbox", { name: "Title" });
      await title.fill("Greetings");
      await title.press("Enter");
      await room.page.getByRole("heading", { level: 1, name: "Greetings" }).waitFor();
      const download = room.page.waitForEvent("download");
      await actOnChat("Export Markdown");
      expect((await download).suggestedFilename()).toBe("Greetings.md");
      await actOnChat("Delete");
      await room.page.getByRole("region", { name: "Welcome" }).waitFor();
      await findEntry("Greetings").waitFor({ state: "detached" });
      // by keyboard: a message that is in motion can't be clicked
      await findButton("Undo").focus();
      await room.page.keyboard.press("Enter");
      await findQuestion().getByText("Hello").waitFor();
      await findEntry("Greetings").waitFor();
    });
  });

  test("two models answer one question side by side", async () => {
    await findButton("Compare models").click();
    await room.page.getByText("Ask both models one question").first().waitFor();
    await room.studio.ask("Hello");
    await expect.poll(() => findButton("Regenerate").count()).toBe(2);
    const numbers = room.page.getByRole("list", { name: "Statistics" }).first();
    await expect.poll(() => numbers.evaluate((it) => getComputedStyle(it).opacity)).toBe("1");
    expect(room.studio.bodies.map(({ model }) => model).sort()).toEqual([
      "alpha-v4.1-flash",
      "gamma-chat-1-6-251015",
    ]);
    await findButton("Close").click();
    await room.page.getByRole("region", { name: "Welcome" }).waitFor();
    // each side is a chat of the list, also after a reload
    await room.page.reload();
    await findEntry("Hello · Alpha V4.1 Flash").waitFor();
    await findEntry("Hello · Gamma Chat 1.6").click();
    await room.studio.answer().waitFor();
  });

  test("a long question is shown in part, and the messages have half of a small screen", async () => {
    const text = Array.from({ length: 40 }, (_, line) => `Line ${line} of a long question`).join("\n");
    await room.studio.ask(text);
    await room.studio.answer().getByRole("button", { name: "Regenerate" }).waitFor();
    const height = async () => (await findQuestion().boundingBox())?.height ?? 0;
    expect(await height()).toBeLessThan(450);
    await findButton("Show more").click();
    await expect.poll(height).toBeGreaterThan(700);
    for (const size of [
      { width: 390, height: 460 },
      { width: 320, height: 256 },
    ]) {
      await room.page.setViewportSize(size);
      const log = room.page.getByRole("log");
      await expect
        .poll(async () => (await log.boundingBox())?.height ?? 0)
        .toBeGreaterThanOrEqual(size.height / 2);
      expect(
        await room.page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
    }
  });
});

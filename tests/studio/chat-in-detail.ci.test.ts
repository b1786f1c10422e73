import { describe, expect, test } from "vitest";
import { COMPLETIONS, openChat, WIDTH } from "../support/chat-room.ts";
import { hasChromium, PNG } from "../support/studio-suite.ts";

const LONG_NOTE = Array.from({ length: 24 }, (_, index) => `word ${index}`).join(" and ");

describe.skipIf(!hasChromium)("the studio's chat in Chromium (skipped where there is none)", () => {
  const {
    room,
    sendAndWait,
    offerTools,
    chooseModel,
    openNewChat,
    actOnChat,
    findButton,
    findQuestion,
    findReplies,
    findCard,
    findRail,
    findEntry,
  } = openChat();

  describe("a response", () => {
    test("has colored code, a table and a formula, within the policy of the page", async () => {
      await sendAndWait("Show me what you can do");
      const code = room.studio.findReply().getByRole("figure", { name: "Code: ts" });
      await expect.poll(() => code.locator("[style*=color]").count()).toBeGreaterThan(20);
      await room.studio.findReply().getByRole("table").waitFor();
      await expect.poll(() => room.studio.findReply().locator(".katex").count()).toBeGreaterThan(3);
    });

    test("Code has the colors of the theme that is chosen, and of the system where none is", async () => {
      room.studio.spend();
      await room.page.emulateMedia({ colorScheme: "light" });
      await sendAndWait("Show me what you can do");
      const code = room.studio.findReply().getByRole("figure", { name: "Code: ts" });
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

    test("A response in JSON is shown as code", async () => {
      const turn = async () => {
        await findButton("Settings").click();
        await room.page.getByRole("switch", { name: "JSON mode" }).click();
        await room.page.keyboard.press("Escape");
      };
      await turn();
      await sendAndWait("Name three rivers as JSON");
      await room.studio.findReply().getByRole("figure", { name: "Code: json" }).getByText("rivers").waitFor();
      await turn();
    });

    test("reserves space for its formulas until they can be drawn", async () => {
      const release = await room.studio.hold("**/assets/formula-math-*.js");
      await room.page.reload();
      await sendAndWait("Show me what you can do");
      const formula = room.studio.findReply().getByRole("img", { name: "Formula" });
      await formula.first().waitFor();
      await expect.poll(() => room.studio.findReply().innerText()).not.toMatch(/\$|\\\w/);
      await release();
      await findReplies().first().locator(".katex").first().waitFor();
      await formula.first().waitFor({ state: "detached" });
    });

    test("stays scrolled to its end when the window becomes lower", async () => {
      await sendAndWait("Show me what you can do");
      const log = room.page.getByRole("log");
      // a late change of the height would end the scroll by the key
      await log.locator(".katex").first().waitFor();
      // the log is reversed: its end has the scroll position 0
      const below = () => log.evaluate((it) => Math.abs(Math.round(it.scrollTop)));
      await expect.poll(below).toBeLessThanOrEqual(1);
      await room.page.setViewportSize({ width: WIDTH, height: 460 });
      await expect.poll(below).toBeLessThanOrEqual(1);
      await log.focus();
      await room.page.keyboard.press("Home");
      await expect.poll(below).toBeGreaterThan(100);
      await room.page.keyboard.press("End");
      await expect.poll(below).toBeLessThanOrEqual(1);
    });

    test("shows no raw Markdown while it streams", async () => {
      // until the renderer has loaded, a text is plain
      await sendAndWait("Show me what you can do");
      await room.page.getByRole("table").waitFor();
      await room.page.evaluate(() => {
        const seen: string[] = [];
        Object.assign(globalThis, { seen });
        new MutationObserver(() => {
          const text = document.querySelector('article[aria-busy="true"] :is(p, li)')?.parentElement;
          if (text) seen.push(text.innerText);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
      });
      await sendAndWait("[[slow]] Say ‘small steps’ in Chinese, Arabic and Hindi");
      const seen = await room.page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((text) => /\*\*|^\|.*\|$/m.test(text))).toEqual([]);
    });

    test("streams in a second tab, too, with its end and the end of the chat", async () => {
      await sendAndWait("Hello");
      const tab = await room.page.context().newPage();
      await tab.goto(room.page.url());
      const other = tab.getByRole("article", { name: "Assistant's message" });
      await other.getByText("offline emulator").waitFor();
      room.pauses = 200;
      await room.studio.sendMessage("[[slow]] Say 'small steps' in Chinese, Arabic and Hindi");
      await other.last().getByText("Responding elsewhere").waitFor();
      await other.last().getByRole("table").waitFor();
      const length = async () => (await other.last().innerText()).length;
      const before = await length();
      room.goOn();
      await expect.poll(length).toBeGreaterThan(before);
      await other.last().getByText("Responding elsewhere").waitFor({ state: "detached" });
      await room.studio.settled();
      await room.studio.sendMessage("[[stall]] How does a canal lock work?");
      await other.last().getByText("Responding elsewhere").waitFor();
      await findButton("Stop").click();
      await other.last().getByText("Stopped").waitFor();
      // a background tab draws at most one frame per second
      await room.page.bringToFront();
      await actOnChat("Delete");
      await tab.getByRole("region", { name: "Welcome" }).waitFor();
      await tab.close();
    });

    test("A response without new text says for how long, until it is stopped", async () => {
      await room.studio.sendMessage("[[stall]] Explain the quadratic formula");
      await room.studio.findReply().locator("p").first().waitFor();
      await room.page.evaluate(() => {
        const { now } = Date;
        let ahead = 0;
        const pass = () => {
          ahead += 10_000;
        };
        Object.assign(Date, { now: () => now() + ahead, pass, back: () => Object.assign(Date, { now }) });
      });
      // the silence begins after the last text
      const pass = async () => {
        await room.page.evaluate("Date.pass()");
        return (await room.studio.findReply().getByRole("timer").allInnerTexts()).join();
      };
      await expect.poll(pass, { interval: 1500 }).toMatch(/^No new text for \d\d s/);
      await room.page.evaluate("Date.back()");
      await findButton("Stop").click();
      await room.studio.findReply().getByText("Stopped").waitFor();
      await expect.poll(() => room.page.getByRole("timer").count()).toBe(0);
    });

    test("A response that reached its length limit is continued", async () => {
      await sendAndWait("[[length]] Write a debounce function in TypeScript");
      await room.studio.findReply().getByText("length limit").waitFor();
      await findButton("Continue").click();
      await findReplies().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("A response without a finish_reason may be incomplete, and is continued", async () => {
      await sendAndWait("[[unconfirmed]] Write a debounce function in TypeScript");
      await room.studio.findReply().getByText("may be incomplete").waitFor();
      await findButton("Continue").click();
      await findReplies().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[1]?.messages.at(-1)).toEqual({ role: "user", content: "Continue" });
    });

    test("A question that may have reached a server on this machine without a network may be charged", async () => {
      room.expected = /Failed to load resource/;
      await room.page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })");
      await room.page.route("**/v1/chat/completions", (route) => route.abort("connectionreset"));
      await room.studio.sendMessage("Hello");
      await room.page.getByRole("alert").getByText("charged").waitFor();
      await room.page.unroute("**/v1/chat/completions");
    });
  });

  describe("a tool", () => {
    test("runs when the model calls it; the steps of the turn are in one box with one row of actions", async () => {
      await offerTools();
      await room.studio.sendMessage("Roll three six-sided dice");
      await room.studio.findReply().getByText("The totals of 3 × 6 sides").waitFor();
      const steps = room.studio.findReply().getByRole("button", { name: "Roll dice · 3 steps" });
      await steps.click();
      await findCard("Roll dice").getByText("total").waitFor();
      await expect
        .poll(() => findCard("Roll dice").innerText())
        .toMatch(/count\s+3\s+sides\s+6[\s\S]*Done|Done[\s\S]*count/);
      await findButton("Regenerate").waitFor();
      await expect
        .poll(() => room.studio.findReply().getByRole("button", { name: "Regenerate" }).count())
        .toBe(1);
    });

    test("shows its arguments while they stream", async () => {
      await offerTools();
      await room.studio.sendMessage(`[[stall]] Keep a note: "${LONG_NOTE}"`);
      await findCard("Save a note").getByText("word 0").waitFor();
      await expect.poll(() => findButton("Approve").count()).toBe(0);
      await findButton("Stop").click();
      await room.studio.findReply().getByText("Stopped").waitFor();
    });

    test("A denied tool does not run, and the model learns of it", async () => {
      await offerTools();
      await room.studio.sendMessage('Keep a note: "nothing"');
      await findButton("Deny").click();
      await room.studio.findReply().getByText("nothing was kept").waitFor();
      await expect
        .poll(() => room.studio.bodies[1]?.messages.at(-1))
        .toMatchObject({ role: "tool", content: expect.stringContaining("did not allow") });
    });

    test("A tool whose output the user enters is on its card, also after a reload", async () => {
      await offerTools();
      await room.studio.sendMessage("Help me choose a color for my boat");
      await findButton("dusk").waitFor();
      await room.page.reload();
      await findButton("dusk").click();
      await room.studio.findReply().getByText("dusk it is").waitFor();
    });

    test("is not offered to a model that calls none", async () => {
      await offerTools();
      await chooseModel("Gamma Chat 1.6");
      await sendAndWait("Hello");
      expect(room.studio.bodies[0]).not.toHaveProperty("tools");
      expect(room.studio.bodies[0]?.model).toBe("gamma-chat-1-6-251015");
      await chooseModel("Alpha 4.1 Flash");
    });
  });

  describe("versions", () => {
    test("The cost of a conversation counts the versions that are not shown, too", async () => {
      const words = room.page.locator("p", { hasText: /^Play money [\d.]/ });
      const amount = async () => Number(/[\d.]+/.exec((await words.textContent()) ?? "")?.[0]);
      await sendAndWait("Hello");
      await words.waitFor();
      const first = await amount();
      await findButton("Regenerate").click();
      await room.studio.findReply().getByText("2/2").waitFor();
      await expect.poll(amount).toBeGreaterThan(first);
      await room.studio.settled();
      const both = await amount();
      await findButton("Previous version").press("Enter");
      await room.studio.findReply().getByText("1/2").waitFor();
      expect(await amount()).toBe(both);
    });

    test("Edit makes versions of a question, each with its own response", async () => {
      await sendAndWait("Hello");
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
    });
  });

  describe("the composer", () => {
    async function pick(...files: string[]): Promise<void> {
      const chooser = room.page.waitForEvent("filechooser");
      await findButton("Add images").click();
      const buffer = Buffer.from(PNG, "base64");
      await (await chooser).setFiles(files.map((name) => ({ name, mimeType: "image/png", buffer })));
    }

    test("offers another model before an image is sent to a model that reads no images", async () => {
      await chooseModel("Delta 5.3");
      await pick("river.png");
      await room.studio.field.fill("What is in this picture?");
      await expect.poll(() => findButton("Send").isDisabled()).toBe(true);
      await findButton(/^Switch to Alpha/).click();
      await findButton("Send").click();
      await room.studio.findReply().getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies[0]?.model).toBe("alpha-v4.1-flash");
    });

    test("leaves a thumbnail of the image in the list of chats, also after Undo", async () => {
      await pick("river.png");
      await sendAndWait("Which river is this?");
      const thumbnail = findEntry("Which river is this?").locator("img");
      const readWidth = () => thumbnail.evaluate((it) => (it as HTMLImageElement).naturalWidth);
      await expect.poll(readWidth).toBe(48);
      await actOnChat("Delete");
      await findButton("Undo").click();
      await expect.poll(readWidth).toBe(48);
    });

    test("gets back what waits for a response that is stopped", async () => {
      const release = await room.studio.hold(COMPLETIONS);
      await room.studio.sendMessage("Hello");
      await findButton("Stop").waitFor();
      await room.studio.sendMessage("Thanks");
      await room.studio.sendMessage("Never mind");
      await room.studio.field.fill("And then");
      await findButton("Stop").click();
      await expect.poll(() => room.studio.field.inputValue()).toBe("And then\n\nThanks\n\nNever mind");
      await release();
      await room.studio.field.fill("");
    });

    test("keeps a draft for each chat, also over a reload", async () => {
      await sendAndWait("A chat with a draft");
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
    test("continue their response while another chat is open, and the tab's title says so", async () => {
      await room.studio.sendMessage("[[stall]] Plan a quiet weekend");
      await room.studio.findReply().locator("p").first().waitFor();
      await expect.poll(() => room.page.title()).toBe("Responding… [[stall]] Plan a quiet weekend · Sluice");
      await openNewChat();
      await findRail().getByRole("img", { name: "Responding" }).waitFor();
      await sendAndWait("Hello");
      await findRail()
        .getByRole("link", { name: /Plan a quiet weekend/ })
        .click();
      await findButton("Stop").click();
      await room.studio.findReply().getByText("Stopped").waitFor();
      expect(room.studio.bodies).toHaveLength(2);
    });

    test("are renamed, deleted, and brought back with Undo", async () => {
      await sendAndWait("Hello");
      await actOnChat("Rename");
      const title = room.page.getByRole("textbox", { name: "Title" });
      await title.fill("Greetings");
      await title.press("Enter");
      await room.page.getByRole("heading", { level: 1, name: "Greetings" }).waitFor();
      await actOnChat("Delete");
      await room.page.getByRole("region", { name: "Welcome" }).waitFor();
      await findEntry("Greetings").waitFor({ state: "detached" });
      // by keyboard: a message that is in motion can't be clicked
      await findButton("Undo").focus();
      await room.page.keyboard.press("Enter");
      await findEntry("Greetings").click();
      await findQuestion().getByText("Hello").waitFor();
    });

    test("can all be reached, however many there are", async () => {
      await sendAndWait("Hello");
      await room.page.evaluate(storeConversations, 60);
      await room.page.reload();
      await findEntry("Chat 60").waitFor();
      expect(await findEntry("Chat 1").count()).toBe(0);
      await room.page.keyboard.press("Control+k");
      await room.page.getByRole("combobox", { name: "Search and commands" }).waitFor();
      await room.page.keyboard.type("Chat 1");
      await room.page.getByRole("option", { name: "Chat 1", exact: true }).waitFor();
      await room.page.keyboard.press("Escape");
      await findButton("Show more").click();
      await findEntry("Chat 1").waitFor();
    });
  });

  test("a long question is shown in part, and the messages have half of a small screen", async () => {
    const text = Array.from({ length: 40 }, (_, line) => `Line ${line} of a long question`).join("\n");
    await room.studio.sendMessage(text);
    await room.studio.findReply().getByRole("button", { name: "Regenerate" }).waitFor();
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

/** Runs in the page: stores conversations with the titles `Chat 1`, `Chat 2` and so on. */
function storeConversations(count: number): Promise<void> {
  return new Promise((resolve) => {
    const opening = indexedDB.open("sluice/1");
    opening.onsuccess = () => {
      const writing = opening.result.transaction("records", "readwrite");
      for (let at = 1; at <= count; at += 1) {
        const record = { title: `Chat ${at}`, createdAt: at, updatedAt: at, revision: 1 };
        writing.objectStore("records").put(JSON.stringify(record), ["conversations", `chat-${at}`]);
      }
      writing.oncomplete = () => {
        opening.result.close();
        resolve();
      };
    };
  });
}

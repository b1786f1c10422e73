import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

const PATH = "/v1/chat/completions";

/* The first screen requests each thing once, sends one question, and puts the focus where the user continues. */
describe.skipIf(!hasChromium)("The welcome of the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY, chat: createDemoScript() });
  const { button, field } = studio;
  const bodies = () => studio.created(PATH) as readonly { model: string; tools?: readonly unknown[] }[];
  const answers = () => studio.page.getByRole("article", { name: "Assistant's answer" });
  const queued = () => studio.page.getByRole("list", { name: "Queued messages" });
  const hasFocus = (name: string) => field(name).evaluate((it) => it === document.activeElement);

  async function answered(count: number): Promise<void> {
    await answers()
      .nth(count - 1)
      .getByRole("button", { name: "Regenerate" })
      .waitFor();
    await button("Send").waitFor();
  }
  async function ask(text: string): Promise<void> {
    await field("Message").fill(text);
    await field("Message").press("Enter");
  }

  test.each(["Stream and render", "Write code", "Explain a formula"])(
    "A double click on “%s” asks once",
    async (name) => {
      await studio.page.getByRole("button", { name: new RegExp(`^${name}`, "i") }).dblclick();
      await answered(1);
      await expect.poll(() => queued().count()).toBe(0);
      expect(bodies()).toHaveLength(1);
    },
  );

  test("The headings of the cards stand on one line", async () => {
    await studio.page.setViewportSize({ width: 1440, height: 900 });
    const headings = studio.page.getByRole("region", { name: "Welcome" }).getByRole("heading", { level: 3 });
    const tops = () =>
      headings.evaluateAll((all) => all.map((it) => Math.round(it.getBoundingClientRect().top)));
    await expect.poll(async () => (await tops()).length).toBe(3);
    await expect.poll(async () => new Set(await tops()).size).toBe(1);
  });

  test("A cell of a table has the direction of its own text", async () => {
    await ask("Say 'small steps' in Chinese, Arabic and Hindi");
    await answered(1);
    const cell = answers().getByRole("cell").first();
    await cell.waitFor();
    expect(await cell.evaluate((it) => getComputedStyle(it).unicodeBidi)).toBe("plaintext");
  });

  test("A double click on a failure plays it once", async () => {
    const release = await studio.hold(`**${PATH}`);
    await button("Stall").dblclick();
    await button("Stop").waitFor();
    await expect.poll(() => queued().count()).toBe(0);
    await button("Stop").click();
    await release();
    expect(bodies().length).toBeLessThanOrEqual(1);
  });

  /** Resolves when the failure of a button of "Break it" is seen. */
  const failuresSeen: Readonly<Record<string, () => Promise<unknown>>> = {
    "429": async () => {
      const refused = () => studio.emulator.requests.filter(({ status }) => status === 429).length;
      const before = refused();
      await expect.poll(refused).toBe(before + 2);
      await answered(1);
    },
    Cut: () => studio.page.getByRole("alert").getByText("The response was cut off").waitFor(),
    Stall: async () => {
      await answers().locator("p").first().waitFor();
      await studio.page.keyboard.press("Escape");
      await studio.page.getByText("Stopped").waitFor();
    },
    // this server keeps no stream that could be resumed
    Offline: () => studio.page.getByRole("alert").first().waitFor(),
    "Reload now": async () => {
      await studio.page.waitForEvent("load");
    },
  };

  test("Each button of “Break it” is pressed by a test", async () => {
    const row = studio.page.locator("div", { has: button("Reload now") }).last();
    await row.waitFor();
    expect(await row.getByRole("button").allTextContents()).toEqual(Object.keys(failuresSeen));
  });

  test.each(Object.entries(failuresSeen))(
    "“%s” fails at each press: the first time, in a new chat and after a reload",
    async (name, seen) => {
      for (const prepare of [
        async () => {},
        () => studio.page.getByRole("link", { name: "New chat" }).click(),
        async () => {
          await studio.page.getByRole("link", { name: "New chat" }).click();
          await studio.page.reload();
        },
      ]) {
        await prepare();
        await Promise.all([seen(), button(name).click()]);
      }
    },
  );

  test("A key that is held on a card asks once, and sends no draft", async () => {
    await field("Message").fill("A draft");
    const card = studio.page.getByRole("button", { name: "Stream and render" });
    await card.focus();
    await studio.page.keyboard.down("Enter");
    for (let repeat = 0; repeat < 5; repeat += 1) await studio.page.keyboard.down("Enter");
    await studio.page.keyboard.up("Enter");
    await answered(1);
    await expect.poll(() => field("Message").inputValue()).toBe("A draft");
    expect(bodies()).toHaveLength(1);
  });

  test.each(["Stall", "Offline"])(
    "After “%s” the field has the focus, and Escape stops the answer",
    async (name) => {
      await button(name).click();
      await button("Stop").waitFor();
      await expect.poll(() => hasFocus("Message")).toBe(true);
      await answers().first().locator("p").first().waitFor();
      await studio.page.keyboard.press("Escape");
      await studio.page.getByText("Stopped").waitFor();
      await button("Stop").waitFor({ state: "detached" });
    },
  );

  test("The focus stays in the chat where a button goes away: Continue, and a message that waits", async () => {
    await ask("[[length]] Write a debounce function in TypeScript");
    await button("Continue").click();
    await expect.poll(() => hasFocus("Message")).toBe(true);
    await answered(2);
    await ask("[[stall]] Hello");
    await ask("And then?");
    await button("Remove “And then?”").click();
    await expect.poll(() => hasFocus("Message")).toBe(true);
    await studio.page.keyboard.press("Escape");
    await button("Stop").waitFor({ state: "detached" });
  });

  test("An answer of “Cut” is cut once: it can be continued, and a second try gets all of it", async () => {
    await button("Cut").click();
    const alert = studio.page.getByRole("alert");
    await alert.getByText("The response was cut off").waitFor();
    await alert.getByRole("button", { name: "Continue" }).waitFor();
    await alert.getByRole("button", { name: "Try again" }).dblclick();
    await answered(1);
    await expect.poll(() => alert.count()).toBe(0);
    expect(bodies()).toHaveLength(2);
  });

  test("The rest of an answer that was cut is asked for once", async () => {
    await button("Cut").click();
    await studio.page.getByRole("button", { name: "Continue" }).dblclick();
    await answered(2);
    expect(bodies()).toHaveLength(2);
    expect(bodies()[1]).toMatchObject({ messages: [{}, { role: "assistant" }, { content: "Continue" }] });
  });

  test("The tools of “Approve a tool” are offered for its question alone, and a double click approves once", async () => {
    const kept = () => studio.page.evaluate(() => localStorage.getItem("sluice-chat"));
    const before = await kept();
    await studio.page.getByRole("button", { name: "Approve a tool" }).dblclick();
    await button("Approve").waitFor();
    // the call waits over a reload, and its tool is there
    await studio.page.reload();
    await button("Approve").dblclick();
    await answered(1);
    await button("Notes: 1").waitFor();
    expect(await kept()).toBe(before);
    await ask("Hello");
    await answered(2);
    expect(bodies().map(({ tools = [] }) => tools.length)).toEqual([3, 3, 0]);
    await button("Settings").click();
    await expect.poll(() => studio.page.getByRole("switch", { name: "Tools" }).isChecked()).toBe(false);
  });

  test("“Approve a tool” asks a model with tools, and leaves the chosen one for the next question", async () => {
    await studio.page.getByRole("button", { name: /^Model: / }).click();
    await studio.page.getByRole("radiogroup").getByText("Gamma Chat 1.6").click();
    await studio.page.keyboard.press("Escape");
    await studio.page.getByRole("button", { name: "Approve a tool" }).click();
    await button("Deny").dblclick();
    await answered(1);
    await ask("Hello");
    await answered(2);
    const used = bodies().map(({ model, tools }) => [model, tools?.length]);
    expect(used.at(-1)).toEqual(["gamma-chat-1-6-251015", undefined]);
    expect(used[0]?.[1]).toBe(3);
  });

  test("A double click on Regenerate requests once", async () => {
    await ask("Hello");
    await answered(1);
    await button("Regenerate").dblclick();
    await expect.poll(() => bodies().length).toBe(2);
    await answered(1);
    expect(bodies()).toHaveLength(2);
  });
});

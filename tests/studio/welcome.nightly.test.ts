import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

const PATH = "/v1/chat/completions";

/* The first screen requests each thing once, sends one question, and puts the focus where the user continues. */
describe.skipIf(!hasChromium)("The welcome of the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY, chat: createDemoScript() });
  const { button, field } = studio;
  const bodies = () => studio.created(PATH) as readonly { model: string; tools?: readonly unknown[] }[];
  const findReplies = () => studio.page.getByRole("article", { name: "Assistant's message" });
  const queued = () => studio.page.getByRole("list", { name: "Queued messages" });
  const hasFocus = (name: string) => field(name).evaluate((it) => it === document.activeElement);

  async function waitForReply(count: number): Promise<void> {
    await findReplies()
      .nth(count - 1)
      .getByRole("button", { name: "Regenerate" })
      .waitFor();
    await button("Send").waitFor();
  }
  async function sendMessage(text: string): Promise<void> {
    await field("Message").fill(text);
    await field("Message").press("Enter");
  }

  test("A double click on “Stream a response” asks once", async () => {
    await button("Stream a response").dblclick();
    await waitForReply(1);
    await expect.poll(() => queued().count()).toBe(0);
    expect(bodies()).toHaveLength(1);
  });

  test("A cell of a table has the direction of its text", async () => {
    await sendMessage("Say 'small steps' in Chinese, Arabic and Hindi");
    await waitForReply(1);
    const cell = findReplies().getByRole("cell").first();
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

  test("A key that is held on a button asks once, and sends no draft", async () => {
    await field("Message").fill("A draft");
    const card = studio.page.getByRole("button", { name: "Stream a response" });
    await card.focus();
    await studio.page.keyboard.down("Enter");
    for (let repeat = 0; repeat < 5; repeat += 1) await studio.page.keyboard.down("Enter");
    await studio.page.keyboard.up("Enter");
    await waitForReply(1);
    await expect.poll(() => field("Message").inputValue()).toBe("A draft");
    expect(bodies()).toHaveLength(1);
  });

  test("After “Stall” the field has the focus, and Escape stops the response", async () => {
    await button("Stall").click();
    await button("Stop").waitFor();
    await expect.poll(() => hasFocus("Message")).toBe(true);
    await findReplies().first().locator("p").first().waitFor();
    await studio.page.keyboard.press("Escape");
    await studio.page.getByText("Stopped").waitFor();
    await button("Stop").waitFor({ state: "detached" });
  });

  // the response may be complete before the network is gone: then there is nothing to stop
  test("After “Offline” the field has the focus", async () => {
    await button("Offline").click();
    await findReplies().first().locator("p").first().waitFor();
    await expect.poll(() => hasFocus("Message")).toBe(true);
  });

  test("The focus stays in the chat where a button goes away: Continue, and a message that waits", async () => {
    await sendMessage("[[length]] Write a debounce function in TypeScript");
    await button("Continue").click();
    await expect.poll(() => hasFocus("Message")).toBe(true);
    await waitForReply(2);
    await sendMessage("[[stall]] Hello");
    await sendMessage("And then?");
    await button("Remove “And then?”").click();
    await expect.poll(() => hasFocus("Message")).toBe(true);
    await studio.page.keyboard.press("Escape");
    await button("Stop").waitFor({ state: "detached" });
  });

  test("A double click on Regenerate requests once", async () => {
    await sendMessage("Hello");
    await waitForReply(1);
    await button("Regenerate").dblclick();
    await expect.poll(() => bodies().length).toBe(2);
    await waitForReply(1);
    expect(bodies()).toHaveLength(2);
  });
});

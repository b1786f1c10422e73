import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { hasChromium, MINUTE, openRoom, sendInNewChat } from "../support/studio-suite.ts";

/* The list of chats with keys alone: after each action the focus is where the next key is meant to go. */

const PATIENCE = { timeout: MINUTE, interval: 20 };

describe.skipIf(!hasChromium)("The list of chats by keys in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });

  const list = () => studio.page.getByRole("navigation", { name: "Chats" });
  const press = (key: string) => studio.page.keyboard.press(key);
  /** Name of the element that has the focus. */
  const focused = () =>
    studio.page.evaluate(() => {
      const { activeElement: active } = document;
      return active?.getAttribute("aria-label") ?? active?.textContent ?? "";
    });
  const expectFocus = (name: string) => expect.poll(focused, PATIENCE).toBe(name);
  const sendMessage = (text: string) => sendInNewChat(studio, text);
  /** Opens the menu that has the focus, and goes to an item by its first letters. */
  async function choose(item: string) {
    await press("Enter");
    await studio.page.getByRole("menuitem", { name: item, exact: true }).waitFor();
    for (let nth = 0; (await focused()) !== item && nth < 12; nth += 1) await press("ArrowDown");
    await expectFocus(item);
    await press("Enter");
  }
  /** Brings the focus to the menu button of a chat. */
  async function reach(name: string) {
    await list().getByRole("link", { name }).focus();
    await press("Tab");
    await expectFocus(`Actions for ${name}`);
  }
  const groups = () =>
    list().evaluate((it) => [...it.querySelectorAll("h2, li a")].map((each) => each.textContent));

  test("A chat that is renamed, or is not after all, keeps the focus", { timeout: 2 * MINUTE }, async () => {
    await sendMessage("Hello");
    await sendMessage("Compare SQL and NoSQL");
    await reach("Hello");
    await choose("Rename");
    await expectFocus("Title");
    await studio.page.keyboard.type("Letters");
    await press("Enter");
    await expectFocus("Actions for Letters");
    await choose("Rename");
    await expectFocus("Title");
    await studio.page.keyboard.type("Thrown away");
    await press("Escape");
    await expectFocus("Actions for Letters");
    expect(await findProblems(studio.page)).toEqual([]);
  });

  test("A chat keeps the focus while it moves to the top and back", {
    timeout: 2 * MINUTE,
  }, async () => {
    await sendMessage("Hello");
    await sendMessage("Compare SQL and NoSQL");
    await reach("Hello");
    await choose("Pin");
    await expect.poll(groups, PATIENCE).toEqual(["Pinned", "Hello", "Today", "Compare SQL and NoSQL"]);
    await expectFocus("Actions for Hello");
    await choose("Unpin");
    await expect.poll(groups, PATIENCE).toEqual(["Today", "Compare SQL and NoSQL", "Hello"]);
    await expectFocus("Actions for Hello");
  });

  test("A deleted chat gives the focus to the next one, and has it again after Undo", {
    timeout: 2 * MINUTE,
  }, async () => {
    await sendMessage("Hello");
    await sendMessage("Compare SQL and NoSQL");
    await reach("Hello");
    await choose("Delete");
    await expect.poll(groups, PATIENCE).toEqual(["Today", "Compare SQL and NoSQL"]);
    await expectFocus("Actions for Compare SQL and NoSQL");
    await studio.button("Undo").focus();
    await press("Enter");
    await expect.poll(groups, PATIENCE).toEqual(["Today", "Compare SQL and NoSQL", "Hello"]);
    await expectFocus("Actions for Hello");
  });

  test("The only chat that is deleted, and is open, leaves the focus to something, and has it again after Undo", {
    timeout: 2 * MINUTE,
  }, async () => {
    await sendMessage("Hello");
    await reach("Hello");
    await choose("Delete");
    await list().getByText("No chats yet").waitFor();
    const hasNothing = () => studio.page.evaluate(() => document.activeElement === document.body);
    await expect.poll(hasNothing, PATIENCE).toBe(false);
    await studio.button("Undo").focus();
    await press("Enter");
    await expect.poll(groups, PATIENCE).toEqual(["Today", "Hello"]);
    await expectFocus("Actions for Hello");
  });
});

import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { askInNewChat, hasChromium, MINUTE, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("Folders of chats in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });

  const list = (page: Page = studio.page) => page.getByRole("region", { name: "Chats" });
  /** The headings of the list, with the chats below each. */
  const groups = (page?: Page) =>
    list(page).evaluate((it) =>
      [...it.querySelectorAll("h2")].map((heading) => [
        heading.innerText,
        ...[...(heading.closest("div.pb-3")?.querySelectorAll("li a") ?? [])].map((link) => link.textContent),
      ]),
    );
  const folder = (name: string, page?: Page) => list(page).getByRole("button", { name, exact: true });
  const choose = async (button: string, item: string) => {
    await list().getByRole("button", { name: button, exact: true }).click();
    await studio.page.getByRole("menuitem", { name: item, exact: true }).click();
  };
  const ask = (text: string) => askInNewChat(studio, text);
  const run = async (text: string, name: string) => {
    await studio.page.getByRole("button", { name: /^Search/ }).click();
    await studio.page.getByRole("option").first().waitFor();
    await studio.page.getByRole("combobox").fill(text);
    await studio.page.getByRole("option", { name, exact: true }).click();
  };

  test("A chat is moved, shown alone, renamed with its folder, and taken out, in both tabs and over a reload", {
    timeout: 2 * MINUTE,
  }, async () => {
    await ask("Hello");
    await ask("Compare SQL and NoSQL");
    await choose("Actions for Hello", "Move to a folder");
    const name = list().getByRole("textbox", { name: "Folder" });
    await expect.poll(() => name.evaluate((it) => it === document.activeElement)).toBe(true);
    await studio.page.keyboard.type("Work");
    await studio.page.keyboard.press("Enter");
    const sorted = [
      ["Work", "Hello"],
      ["Today", "Compare SQL and NoSQL"],
    ];
    await expect.poll(() => groups()).toEqual(sorted);
    const second = await studio.page.context().newPage();
    await second.goto(studio.page.url());
    await expect.poll(() => groups(second)).toEqual(sorted);
    await folder("Work").click();
    await expect.poll(() => groups()).toEqual([["Work", "Hello"]]);
    await expect.poll(() => folder("Work").getAttribute("aria-pressed")).toBe("true");
    await choose("Actions for the folder Work", "Rename the folder");
    await expect.poll(() => name.evaluate((it) => it === document.activeElement)).toBe(true);
    await studio.page.keyboard.type("Letters");
    await studio.page.keyboard.press("Enter");
    await expect.poll(() => groups()).toEqual([["Letters", "Hello"]]);
    await expect.poll(() => groups(second)).toEqual([["Letters", "Hello"], sorted[1]]);

    await studio.page.reload();
    await expect.poll(() => groups()).toEqual([["Letters", "Hello"], sorted[1]]);
    await choose("Actions for Hello", "Take out of Letters");
    await expect.poll(() => groups(second)).toEqual([["Today", "Compare SQL and NoSQL", "Hello"]]);
  });

  test("The palette moves the open chat, shows one folder, and shows all again where that ends", {
    timeout: MINUTE,
  }, async () => {
    await ask("Hello");
    await run("Work", "Move this chat to the new folder “Work”");
    await studio.page.getByText("Moved to “Work”").waitFor();
    await ask("Compare SQL and NoSQL");
    await run("move this", "Move this chat to “Work”");
    await expect.poll(() => groups()).toEqual([["Work", "Compare SQL and NoSQL", "Hello"]]);
    await run("show", "Show “Work” only");
    await expect.poll(() => folder("Work").getAttribute("aria-pressed")).toBe("true");
    expect(await findProblems(studio.page)).toEqual([]);
    await choose("Actions for the folder Work", "Remove the folder, keep its chats");
    await expect.poll(() => groups()).toEqual([["Today", "Compare SQL and NoSQL", "Hello"]]);
    // the next chat is not hidden by a folder that is gone
    await ask("Show me what you can do");
    await list().getByRole("link", { name: "Show me what you can do" }).waitFor();
  });

  test("A new name that is empty, and Escape, leave a folder as it is", { timeout: MINUTE }, async () => {
    await ask("Hello");
    await run("Work", "Move this chat to the new folder “Work”");
    for (const keys of [
      ["Delete", "Enter"],
      ["x", "Escape"],
    ] as const) {
      await choose("Actions for the folder Work", "Rename the folder");
      const name = list().getByRole("textbox", { name: "Folder" });
      await expect.poll(() => name.evaluate((it) => it === document.activeElement)).toBe(true);
      for (const key of keys) await studio.page.keyboard.press(key);
      await expect.poll(() => groups()).toEqual([["Work", "Hello"]]);
    }
  });
});

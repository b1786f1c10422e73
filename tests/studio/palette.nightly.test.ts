import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { hasChromium, MINUTE, openRoom } from "../support/studio-suite.ts";

/* The verbs of the palette. What it finds of chats is in shell.test.ts. */

describe.skipIf(!hasChromium)("the palette of the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });

  async function open(text = "") {
    // a button, and not the keys: no one hears them before the page is there
    await studio.page.getByRole("button", { name: /^Search/ }).click();
    await studio.page.getByRole("option").first().waitFor();
    await studio.page.getByRole("combobox").fill(text);
  }
  const row = (name: string) => studio.page.getByRole("option", { name, exact: true });
  const run = async (text: string, name = text) => {
    await open(text);
    await row(name).click();
  };
  const title = (name: string) => studio.page.getByRole("heading", { level: 1, name, exact: true });
  async function ask(text: string) {
    await studio.page.getByRole("textbox", { name: "Message" }).fill(text);
    await studio.page.keyboard.press("Enter");
    await studio.button("Regenerate").waitFor();
  }

  test("offers the verbs of the room on screen, and no others", { timeout: MINUTE }, async () => {
    await open();
    await expect.poll(() => row("Regenerate the answer").count()).toBe(0);
    await studio.page.keyboard.press("Escape");
    await ask("Show me what you can do");
    await run("regenerate", "Regenerate the answer");
    await expect.poll(() => studio.created("/v1/chat/completions").length).toBe(2);
    await run("go to images", "Images");
    await title("Images").waitFor();
    await open("generate");
    await row("Generate").waitFor();
    await expect.poll(() => row("Regenerate the answer").count()).toBe(0);
  });

  test("gives a chat a name, pins it, and deletes it", { timeout: MINUTE }, async () => {
    await ask("Compare SQL and NoSQL");
    await run("Databases", "Rename this chat to “Databases”");
    await title("Databases").waitFor();
    await run("pin this", "Pin this chat");
    await studio.page.getByRole("heading", { name: "Pinned" }).waitFor();
    await run("delete this", "Delete this chat");
    await studio.page.getByText("Chat deleted").waitFor();
    await title("Chat").waitFor();
    await studio.button("Undo").click();
    await title("Databases").waitFor();
  });

  test("imports the file that export wrote, and says of another that it has no chat", {
    timeout: MINUTE,
  }, async () => {
    await ask("Show me what you can do");
    const [download] = await Promise.all([
      studio.page.waitForEvent("download"),
      run("export", "Export as JSON"),
    ]);
    const file = await download.path();
    const { messages } = JSON.parse(await readFile(file, "utf8"));
    expect(messages).toHaveLength(2);
    const before = studio.page.url();
    const choose = async (given: Parameters<typeof studio.page.setInputFiles>[1]) => {
      const [chooser] = await Promise.all([
        studio.page.waitForEvent("filechooser"),
        run("import", "Import a chat"),
      ]);
      await chooser.setFiles(given);
    };
    await choose({
      name: "other.json",
      mimeType: "application/json",
      buffer: Buffer.from('{"messages":[]}'),
    });
    await studio.page
      .getByText("No chat in this file. Choose one that was shared, or exported as JSON.")
      .waitFor();
    expect(studio.page.url()).toBe(before);
    await choose(file);
    await studio.page.getByText("Chat imported").waitFor();
    await expect.poll(() => studio.page.url()).not.toBe(before);
    await studio.page.getByRole("log").getByText("Show me what you can do").waitFor();
    // it is kept, and in the list
    await studio.page.reload();
    await studio.page.getByRole("log").getByText("Show me what you can do").waitFor();
    const list = studio.page.getByRole("region", { name: "Chats" });
    await expect.poll(() => list.getByRole("link").count()).toBe(2);
  });

  test("keeps the settings as a preset, over a reload, and gives them back", {
    timeout: MINUTE,
  }, async () => {
    await run("delta", "Chat with Delta 5.3");
    await run("Thinker", "Save the chat settings as preset “Thinker”");
    await studio.page.getByText("Preset saved").waitFor();
    await run("alpha", "Chat with Alpha 4.1 Flash");
    await studio.page.reload();
    await studio.button("Model: Alpha 4.1 Flash").waitFor();
    await run("thinker", "Use preset “Thinker”");
    await studio.button("Model: Delta 5.3").waitFor();
    await run("thinker", "Delete preset “Thinker”");
    await open("thinker");
    await expect.poll(() => row("Use preset “Thinker”").count()).toBe(0);
  });

  test("takes what was searched for on Enter, before what the text could name", async () => {
    await ask("Show me what you can do");
    await open("dark");
    await expect
      .poll(() => studio.page.locator('[role=option][aria-selected="true"]').textContent())
      .toBe("Dark theme");
    expect(await findProblems(studio.page)).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { problemsOf } from "../support/axe.ts";
import { hasChromium, MINUTE, openRoom } from "../support/studio-suite.ts";

/* Documents in a chat: a text file goes with a message as its text; of what the models can't read, the page says so. */

describe.skipIf(!hasChromium)("documents in a chat in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });
  const add = (...files: readonly (readonly [name: string, content: string | Buffer, type?: string])[]) =>
    studio.page.getByLabel("Text files", { exact: true }).setInputFiles(
      files.map(([name, content, mimeType = "text/plain"]) => ({
        name,
        mimeType,
        buffer: Buffer.from(content),
      })),
    );
  const said = (text: string) => studio.page.getByText(text, { exact: true }).waitFor();
  const contents = () =>
    studio
      .created("/v1/chat/completions")
      .map((body) => (body as { messages: { content: unknown }[] }).messages.at(-1)?.content);

  test("A text file is a chip that can be read and removed, and goes with the message", {
    timeout: MINUTE,
  }, async () => {
    await add(["notes.md", "# Locks\n\nThe upper gate leaks."], ["other.csv", "a,b"]);
    await studio.page.getByRole("button", { name: /^notes\.md · / }).click();
    await studio.page.getByRole("dialog", { name: "notes.md" }).getByText("The upper gate leaks.").waitFor();
    expect(await problemsOf(studio.page)).toEqual([]);
    await studio.page.keyboard.press("Escape");
    await studio.button("Remove other.csv").click();
    await studio.field("Message").fill("What leaks?");
    await studio.page.keyboard.press("Enter");
    await expect
      .poll(contents)
      .toEqual(["What leaks?\n\nFile “notes.md”:\n\n# Locks\n\nThe upper gate leaks."]);
  });

  test("A PDF, an archive and a file that is too large are named, and nothing of them is sent", {
    timeout: MINUTE,
  }, async () => {
    const binary = Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe]);
    await add(["a.pdf", Buffer.concat([Buffer.from("%PDF-1.7\n"), binary]), "application/pdf"]);
    await said("“a.pdf” is a PDF. These models read text and images: add its text, or a picture of a page.");
    await add(["a.zip", binary, "application/zip"]);
    await said("“a.zip” is not a text.");
    await add(["a.log", "x".repeat(1_000_001)]);
    await said("“a.log” is too large. Limit: 1 MB.");
    await add(["plain.pdf", "%PDF-1.4 as text"]);
    await said(
      "“plain.pdf” is a PDF. These models read text and images: add its text, or a picture of a page.",
    );
    expect(await studio.page.getByRole("list", { name: "Texts to send" }).count()).toBe(0);
  });

  test("A text file that is dropped beside an image goes with the message", { timeout: MINUTE }, async () => {
    await studio.page.getByLabel("Text files", { exact: true }).waitFor({ state: "attached" });
    const transfer = await studio.page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["The upper gate leaks."], "notes.txt", { type: "text/plain" }));
      data.items.add(new File(["no picture"], "broken.png", { type: "image/png" }));
      return data;
    });
    await studio.field("Message").dispatchEvent("dragover", { dataTransfer: transfer });
    await studio.field("Message").dispatchEvent("drop", { dataTransfer: transfer });
    await studio.page.getByRole("button", { name: /^notes\.txt · / }).waitFor();
    expect(await studio.page.getByText("Drop images or text files here").count()).toBe(0);
    // the image went its own way, and the text is none of its problems
    await said("“broken.png” is not a JPEG, PNG, GIF or WebP image.");
    expect(await studio.page.getByRole("alert").getByText("notes.txt").count()).toBe(0);
  });
});

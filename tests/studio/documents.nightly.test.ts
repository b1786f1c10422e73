import type { Locator } from "playwright";
import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { createPDF } from "../support/pdf.ts";
import { hasChromium, MINUTE, openRoom } from "../support/studio-suite.ts";

/* Documents in a chat: a text file and the text of a PDF go with a message; of what has no text, the page says so. */

/** Scripts of the reader, and the encodings that it may need. */
const READER = "**/assets/pdf{-,.worker-}*.js";
const WORKER = "**/assets/pdf.worker-*.js";
const ENCODING = "**/*.bcmap";
const COMPLETIONS = "**/v1/chat/completions";

describe.skipIf(!hasChromium)("documents in a chat in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });
  const files = () => studio.page.getByLabel("Text files and PDFs", { exact: true });
  const add = (...given: readonly (readonly [name: string, content: string | Buffer, type?: string])[]) =>
    files().setInputFiles(
      given.map(([name, content, mimeType = "text/plain"]) => ({
        name,
        mimeType,
        buffer: Buffer.from(content),
      })),
    );
  const addPDF = (name: string, content: Buffer) => add([name, content, "application/pdf"]);
  const said = (text: string) => studio.page.getByText(text, { exact: true }).waitFor();
  const chips = () => studio.page.getByRole("list", { name: "Texts to send" }).getByRole("listitem");
  const answer = () => studio.page.getByRole("article", { name: "Assistant's answer" }).last();
  const isFocused = (it: Locator) => it.evaluate((element) => element === document.activeElement);
  const contents = () =>
    studio
      .created("/v1/chat/completions")
      .map((body) => (body as { messages: { content: unknown }[] }).messages.at(-1)?.content);
  /** Workers that read a PDF. */
  const readers = () => studio.page.workers().filter((worker) => /pdf/.test(worker.url()));
  /** Writes a question, and adds a PDF whose reader is held. Returns what lets it go on. */
  async function readWhileHeld(): Promise<() => Promise<void>> {
    const release = await studio.hold(WORKER);
    await studio.field("Message").fill("What leaks?");
    await addPDF("gates.pdf", whole);
    await chips().getByText("Reading gates.pdf…").waitFor();
    return release;
  }
  async function ask(text: string): Promise<void> {
    await studio.field("Message").fill(text);
    await studio.page.keyboard.press("Enter");
  }

  test("A text file is a chip that can be read and removed, and goes with the message", {
    timeout: 2 * MINUTE,
  }, async () => {
    await add(["notes.md", "# Locks\n\nThe upper gate leaks."], ["other.csv", "a,b"]);
    await studio.page.getByRole("button", { name: /^notes\.md · / }).click();
    await studio.page.getByRole("dialog", { name: "notes.md" }).getByText("The upper gate leaks.").waitFor();
    expect(await findProblems(studio.page)).toEqual([]);
    await studio.page.keyboard.press("Escape");
    await studio.button("Remove other.csv").click();
    await ask("What leaks?");
    await expect
      .poll(contents)
      .toEqual(["What leaks?\n\nFile “notes.md”:\n\n# Locks\n\nThe upper gate leaks."]);
    await answer().getByRole("cell", { name: "Locks The upper gate leaks." }).waitFor();
  });

  test("A PDF is read by a script of its own, says what of it is sent, and goes with the message as its text", {
    timeout: 2 * MINUTE,
  }, async () => {
    const loaded: string[] = [];
    studio.page.on("request", (request) => loaded.push(request.url()));
    await files().waitFor({ state: "attached" });
    const scripts = () => loaded.filter((url) => /pdf/.test(url));
    expect(scripts()).toEqual([]);
    await addPDF("gates.pdf", createPDF([["The upper gate leaks.", "Since May."], [], ["Mend it."]]));
    const text =
      "File “gates.pdf” (text of 2 of 3 pages, without pictures):\n\nPage 1:\nThe upper gate leaks.\nSince May.\n\nPage 3:\nMend it.";
    const sent = `text of 2 of 3 pages (${text.length} characters). Pictures are not sent.`;
    await studio.button(`gates.pdf · ${sent}`).click();
    await studio.page.getByRole("dialog", { name: "gates.pdf" }).getByText("Mend it.").waitFor();
    expect(await findProblems(studio.page)).toEqual([]);
    await studio.page.keyboard.press("Escape");
    expect(scripts().length).toBe(2);
    await ask("What leaks?");
    await expect.poll(contents).toEqual([`What leaks?\n\n${text}`]);
    await answer().getByRole("cell", { name: "gates.pdf" }).waitFor();
    await answer().getByRole("cell", { name: "text of 2 of 3 pages, without pictures" }).waitFor();
    await answer().getByText("Mend it.").waitFor();
    // it ends with the reading
    await expect.poll(readers).toEqual([]);
  });

  test("The chip of a PDF with a long name stays in a narrow window, with its button", {
    timeout: 2 * MINUTE,
  }, async () => {
    await studio.page.setViewportSize({ width: 320, height: 700 });
    await addPDF(`${"annual-report-".repeat(8)}2026.pdf`, createPDF([["The upper gate leaks."]]));
    const remove = chips().getByRole("button", { name: /^Remove annual-report/ });
    await remove.waitFor();
    const edges = await remove.evaluate((it) => {
      const [button, list] = [it, it.closest("ul")].map((one) => one?.getBoundingClientRect());
      return (list?.right ?? 0) - (button?.right ?? Number.POSITIVE_INFINITY);
    });
    expect(edges).toBeGreaterThanOrEqual(0);
    await remove.click();
    await expect.poll(() => chips().count()).toBe(0);
  });

  test("A PDF that a browser wrote is read with its scripts and its order", {
    timeout: 2 * MINUTE,
  }, async () => {
    const page = await studio.page.context().newPage();
    await page.setContent("<h1>Schleusenwärter</h1><p>Ωmega, žluťoučký</p><p>Second line</p>");
    const written = await page.pdf();
    await page.close();
    await addPDF("browser.pdf", written);
    await studio.page.getByRole("button", { name: /^browser\.pdf · text of 1 page \(/ }).waitFor();
    await ask("Read it");
    await expect.poll(contents).toHaveLength(1);
    expect(contents()[0]).toMatch(/Schleusenwärter\s+Ωmega, žluťoučký\s+Second line$/);
  });

  test("A Chinese PDF without a font is read by the encoding that it names; where that can't be loaded, nothing is left out", {
    timeout: 2 * MINUTE,
  }, async () => {
    const chinese = createPDF([["上闸门漏水"]], { encoding: "UniGB-UCS2-H" });
    await studio.page.route(ENCODING, (route) => route.abort());
    await addPDF("闸.pdf", chinese);
    await said("“闸.pdf” can't be read now: a part of the page could not load. Check your connection.");
    await expect.poll(() => chips().count()).toBe(0);
    await studio.page.unroute(ENCODING);
    await studio.button("Dismiss").click();
    await addPDF("闸.pdf", chinese);
    await studio.page.getByRole("button", { name: /^闸\.pdf · text of 1 page/ }).waitFor();
    await ask("?");
    await expect.poll(contents).toEqual([expect.stringMatching(/上闸门漏水$/)]);
  });

  test("What was written into the form of a PDF is part of its text", { timeout: 2 * MINUTE }, async () => {
    await addPDF("form.pdf", createPDF([["Name of the keeper"]], { field: ["keeper", "Ada"] }));
    await studio.page.getByRole("button", { name: /^form\.pdf · / }).waitFor();
    await ask("Who?");
    await expect.poll(contents).toEqual([expect.stringMatching(/Name of the keeper\nkeeper: Ada$/)]);
  });

  const whole = createPDF([["The upper gate leaks."]]);
  const refusals: readonly (readonly [what: string, content: Buffer, words: string])[] = [
    [
      "with a password",
      createPDF([["Secret"]], { isLocked: true }),
      "is locked with a password. Add a copy without it.",
    ],
    [
      "of pictures alone",
      createPDF([[], []]),
      "has no text: its pages are pictures. Add pictures of the pages.",
    ],
    ["that was cut", whole.subarray(0, 120), "is broken. Open it in a PDF app, and save it again."],
    ["that is none", Buffer.from("%PDF-1.4 as text"), "is broken. Open it in a PDF app, and save it again."],
    ["that is empty", Buffer.from(""), "is broken. Open it in a PDF app, and save it again."],
    [
      "of a few kilobytes that draws words without an end",
      createPDF([[]], { isEndless: true }),
      "has more text than a model reads at once. Add fewer pages: the limit is 1 MB.",
    ],
    [
      "with more text than models read",
      createPDF(Array.from({ length: 220 }, () => Array.from({ length: 55 }, () => "x".repeat(90)))),
      "has more text than a model reads at once. Add fewer pages: the limit is 1 MB.",
    ],
  ];

  test.for(refusals)(
    "A PDF %s is named with what to do, and the draft and the other files stay",
    {
      timeout: 2 * MINUTE,
    },
    async ([, content, words]) => {
      await studio.field("Message").fill("What leaks?");
      await add(["notes.txt", "a note"], ["a.pdf", content, "application/pdf"], ["b.pdf", whole]);
      await said(`“a.pdf” ${words}`);
      await studio.page.getByRole("button", { name: /^b\.pdf · text of 1 page/ }).waitFor();
      await expect.poll(() => chips().count()).toBe(2);
      await expect.poll(() => studio.field("Message").inputValue()).toBe("What leaks?");
      expect(await findProblems(studio.page)).toEqual([]);
      await studio.button("Dismiss").click();
      await expect.poll(() => studio.page.getByText(`“a.pdf” ${words}`).count()).toBe(0);
      await expect.poll(() => isFocused(studio.field("Message"))).toBe(true);
      await studio.page.keyboard.press("Enter");
      await expect
        .poll(contents)
        .toEqual([
          expect.stringMatching(/^What leaks\?\n\nFile “notes.txt”:\n\na note\n\nFile “b.pdf” \(text/),
        ]);
    },
  );

  test("A PDF of more than 50 MB, an archive and a large text are named, and nothing of them is sent", {
    timeout: 2 * MINUTE,
  }, async () => {
    const binary = Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe]);
    await add(["a.zip", binary, "application/zip"]);
    await said("“a.zip” is not a text.");
    await add(["a.log", "x".repeat(1_000_001)]);
    await said("“a.log” is too large. Limit: 1 MB.");
    const large = await studio.page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(50_000_001)], "large.pdf", { type: "application/pdf" }));
      return data;
    });
    await studio.field("Message").dispatchEvent("drop", { dataTransfer: large });
    await said("“large.pdf” is too large. Limit: 50 MB.");
    await expect.poll(() => chips().count()).toBe(0);
  });

  test("While a PDF is read, its page is said and nothing can be sent; given up, it is gone with its worker", {
    timeout: 2 * MINUTE,
  }, async () => {
    const release = await readWhileHeld();
    await expect.poll(() => studio.button("Send").isDisabled()).toBe(true);
    await studio.page.keyboard.press("Enter");
    expect(await findProblems(studio.page)).toEqual([]);
    await studio.button("Remove gates.pdf").click();
    await expect.poll(() => chips().count()).toBe(0);
    await expect.poll(() => studio.button("Send").isEnabled()).toBe(true);
    await release();
    expect(readers()).toEqual([]);
    expect(contents()).toEqual([]);
    // another one is read by a worker of its own
    await addPDF("gates.pdf", whole);
    await studio.page.getByRole("button", { name: /^gates\.pdf · text of 1 page/ }).waitFor();
  });

  test("A PDF whose page takes its time is given up in the middle of it", {
    timeout: 2 * MINUTE,
  }, async () => {
    const release = await studio.hold(ENCODING);
    await addPDF("闸.pdf", createPDF([["上闸门"], ["漏水"]], { encoding: "UniGB-UCS2-H" }));
    await chips().getByText("Reading 闸.pdf… Page 1 of 2").waitFor();
    await studio.button("Remove 闸.pdf").click();
    await expect.poll(readers).toEqual([]);
    await release();
    await expect.poll(() => chips().count()).toBe(0);
  });

  test("A reader that can't be loaded is said, and is asked for again with the next PDF", {
    timeout: 2 * MINUTE,
  }, async () => {
    for (const part of [READER, WORKER]) {
      await studio.page.route(part, (route) => route.abort());
      await addPDF("gates.pdf", whole);
      await said("“gates.pdf” can't be read now: a part of the page could not load. Check your connection.");
      await studio.page.unroute(part);
      await studio.button("Dismiss").click();
    }
    await addPDF("gates.pdf", whole);
    await studio.page.getByRole("button", { name: /^gates\.pdf · text of 1 page/ }).waitFor();
  });

  test("A PDF that is read while another chat is open goes with the message that it was added to", {
    timeout: 2 * MINUTE,
  }, async () => {
    const release = await studio.hold(WORKER);
    await ask("Hello");
    await studio.button("Regenerate").waitFor();
    const first = studio.page.url();
    await addPDF("gates.pdf", whole);
    await chips().getByText("Reading gates.pdf…").waitFor();
    await studio.page.getByRole("link", { name: "New chat" }).click();
    await studio.page.getByRole("heading", { level: 1, name: "Chat", exact: true }).waitFor();
    await release();
    await expect.poll(readers).toEqual([]);
    await expect.poll(() => chips().count()).toBe(0);
    await studio.page.goto(first);
    await studio.page.getByRole("button", { name: /^gates\.pdf · text of 1 page/ }).waitFor();
  });

  test("A PDF that is still read when its page is loaded again is not sent, and what was written stays", {
    timeout: 2 * MINUTE,
  }, async () => {
    const release = await readWhileHeld();
    await studio.page.reload();
    await release();
    await expect.poll(() => studio.field("Message").inputValue()).toBe("What leaks?");
    expect([await chips().count(), readers()]).toEqual([0, []]);
    await studio.field("Message").press("Enter");
    await expect.poll(contents).toEqual(["What leaks?"]);
    await studio.button("Regenerate").waitFor();
  });

  test("A PDF that is too long for the model stays in the question, with the gateway's words and a way on", {
    timeout: 2 * MINUTE,
  }, async () => {
    const error = { message: "This model reads at most 4096 tokens.", code: "context_length_exceeded" };
    await studio.page.route(COMPLETIONS, (route) => route.fulfill({ status: 400, json: { error } }));
    await addPDF("gates.pdf", whole);
    await studio.page.getByRole("button", { name: /^gates\.pdf · / }).waitFor();
    await ask("What leaks?");
    await said("Too much to send");
    await studio.page.getByRole("log").getByText("The upper gate leaks.").waitFor();
    await studio.page.unroute(COMPLETIONS);
    await studio.button("Try again").click();
    await expect.poll(contents).toEqual([expect.stringContaining("The upper gate leaks.")]);
  });

  test("A PDF that is pasted goes with the message, and a text that is dropped beside an image, too", {
    timeout: 2 * MINUTE,
  }, async () => {
    await files().waitFor({ state: "attached" });
    await studio.field("Message").evaluate(
      (field, bytes) => {
        const clipboardData = new DataTransfer();
        clipboardData.items.add(
          new File([Uint8Array.from(bytes)], "pasted.pdf", { type: "application/pdf" }),
        );
        field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
      },
      [...whole],
    );
    await studio.page.getByRole("button", { name: /^pasted\.pdf · text of 1 page/ }).waitFor();
    const transfer = await studio.page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["The upper gate leaks."], "notes.txt", { type: "text/plain" }));
      data.items.add(new File(["no picture"], "broken.png", { type: "image/png" }));
      return data;
    });
    await studio.field("Message").dispatchEvent("dragover", { dataTransfer: transfer });
    await studio.field("Message").dispatchEvent("drop", { dataTransfer: transfer });
    await studio.page.getByRole("button", { name: /^notes\.txt · / }).waitFor();
    await expect.poll(() => studio.page.getByText("Drop images, text files or PDFs here").count()).toBe(0);
    // the image went its own way, and the text is none of its problems
    await said("“broken.png” is not a JPEG, PNG, GIF or WebP image.");
    await expect.poll(() => studio.page.getByRole("alert").getByText("notes.txt").count()).toBe(0);
  });
});

import { describe, expect, test } from "vitest";
import { streamText } from "../../core/test/support/reply-streams.js";
import { createChat } from "./support/chat.js";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const dataURL = `data:image/png;base64,${btoa(String.fromCharCode(...PNG))}`;

describe("images in a message", () => {
  test("are sent as image parts, and files as data URLs with the type of their bytes", async () => {
    const { chat, sent } = createChat([streamText("A dot.")]);
    const file = new File([PNG], "dot.jpg", { type: "image/jpeg" });
    const images = [file, new URL("https://files.test/a.png"), dataURL];
    expect(await chat.send("What is it?", { images })).toMatchObject({
      outcome: "complete",
      messages: [
        { role: "user", content: "What is it?", images: [dataURL, "https://files.test/a.png", dataURL] },
        {},
      ],
    });
    expect((await sent(0))?.[0]?.["content"]).toEqual([
      { type: "text", text: "What is it?" },
      ...[dataURL, "https://files.test/a.png", dataURL].map((url) => ({
        type: "image_url",
        image_url: { url },
      })),
    ]);
  });

  test("stay with a message after an edit", async () => {
    const { chat, sent } = createChat([streamText("A dot.")]);
    const { messages } = await chat.send("What is it?", { images: [dataURL] });
    await chat.edit(messages[0]?.id ?? "", "What colour is it?");
    expect((await sent(1))?.[0]?.["content"]).toMatchObject([
      { text: "What colour is it?" },
      { image_url: { url: dataURL } },
    ]);
  });

  test.each([
    ["images", "delta-5.3", dataURL, /delta-5\.3 sees no images; choose alpha-v4\.1-flash/],
    [
      "images.0",
      "alpha-v4.1-flash",
      new Blob(["plain text"], { type: "image/png" }),
      /JPEG, PNG, GIF or WebP/,
    ],
    ["images.0", "alpha-v4.1-flash", "data:image/tiff;base64,AAAA", /http\(s\) URL/],
    ["images.0", "alpha-v4.1-flash", "/picture.png", /http\(s\) URL/],
  ] as const)(
    "are refused at %s by %s before anything is sent or shown",
    async (path, model, image, message) => {
      const { chat, requests } = createChat([streamText("Hm.")], { model } as object);
      const turn = await chat.send("What is it?", { images: [image] });
      expect(turn).toMatchObject({
        messages: [],
        outcome: "not-sent",
        error: { name: "ValidationError", issues: [{ path, message: expect.stringMatching(message) }] },
      });
      expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "error", error: turn.error });
      expect(requests).toHaveLength(0);
    },
  );

  test.each([
    ["a file", new Blob([PNG])],
    ["a URL", dataURL],
  ])("are not sent if the chat is stopped while they are read, with %s", async (_, image) => {
    const { chat, requests } = createChat([streamText("Hm.")]);
    const turn = chat.send("What is it?", { images: [image] });
    expect(chat.getSnapshot().status).toBe("submitted");
    chat.stop();
    expect(await turn).toMatchObject({ messages: [], outcome: "stopped" });
    expect(await chat.send("Hello")).toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().messages).toHaveLength(2);
  });
});

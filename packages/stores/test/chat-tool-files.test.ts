import { defineTool } from "@sluice/core";
import { type ChatMessage, createChatStore, memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, hasCall, until } from "./support/chat.js";

type Context = Parameters<NonNullable<ReturnType<typeof defineTool>["execute"]>>[1];

const responses = [streamCalls({ a: ["draw", "{}"] }), streamText("Here it is.")];
const image = { type: "image/png", url: "https://files.test/a.png" };
const video = { type: "video/mp4", url: "https://files.test/a.mp4" };

function createDrawTool(execute: (context: Context) => unknown) {
  return defineTool({
    name: "draw",
    inputSchema: { type: "object" },
    execute: (_, context) => execute(context),
  });
}

const findResponse = (messages: readonly ChatMessage[]) => messages.find(({ toolCalls }) => toolCalls);

describe("a tool", () => {
  test("attaches images and files to the response that calls it, once each, and the model gets neither", async () => {
    const tool = createDrawTool(({ attachFile }) => {
      for (const file of [image, video, image, video]) attachFile(file);
      return "drawn";
    });
    const { chat, sent } = createChat(responses, { tools: [tool] });
    const turn = await chat.send("Draw");
    expect(turn.outcome).toBe("complete");
    expect(findResponse(turn.messages)).toMatchObject({ images: [image.url], files: [video] });
    expect(turn.messages.at(-1)).not.toHaveProperty("images");
    await chat.send("Again");
    for (const nth of [1, 2]) expect(JSON.stringify(await sent(nth))).not.toContain("files.test");
  });

  test("shows a file and its progress while it runs", async () => {
    let finish: (output: string) => void = () => {};
    const tool = createDrawTool(({ reportProgress, attachFile }) => {
      reportProgress(0.4);
      attachFile(image);
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    const { chat } = createChat(responses, { tools: [tool], throttleMs: 0 });
    const turn = chat.send("Draw");
    await until(chat, hasCall("running"));
    await until(chat, ({ messages }) => findResponse(messages)?.images !== undefined);
    expect(findResponse(chat.getSnapshot().messages)?.toolCalls).toMatchObject([{ progress: 0.4 }]);
    finish("drawn");
    expect(findResponse((await turn).messages)?.toolCalls?.[0]).not.toHaveProperty("progress");
  });

  test.each([
    ["a script", { type: "text/html", url: "javascript:alert(1)" }],
    ["a page as data", { type: "text/html", url: "data:text/html,<p>" }],
    ["no type", { type: "", url: "https://files.test/a.png" }],
    ["nothing", undefined],
  ])("fails if it attaches %s", async (_, file) => {
    const { chat } = createChat(responses, {
      tools: [createDrawTool(({ attachFile }) => attachFile(file as typeof image))],
    });
    const turn = await chat.send("Draw");
    expect(findResponse(turn.messages)?.toolCalls).toMatchObject([
      { state: "failed", error: expect.stringContaining("attachFile()") },
    ]);
    expect(findResponse(turn.messages)).not.toHaveProperty("files");
  });

  test("can't save a state without JSON", async () => {
    const { chat } = createChat(responses, { tools: [createDrawTool(({ saveState }) => saveState(1n))] });
    const turn = await chat.send("Draw");
    expect(findResponse(turn.messages)?.toolCalls).toMatchObject([
      { state: "failed", error: expect.stringContaining("saveState()") },
    ]);
  });

  test("keeps its saved state if the call is stopped, and drops it with a result", async () => {
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const tool = createDrawTool(async ({ saveState, signal }) => {
      await saveState({ task: 7 });
      begin();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const { chat } = createChat(responses, { tools: [tool] });
    const turn = chat.send("Draw");
    await begun;
    chat.stop();
    await turn;
    expect(findResponse(chat.getSnapshot().messages)?.toolCalls).toMatchObject([
      { state: "cancelled", savedState: { task: 7 } },
    ]);
    const { chat: other } = createChat(responses, {
      tools: [createDrawTool(({ saveState }) => saveState(1).then(() => "drawn"))],
    });
    const call = findResponse((await other.send("Draw")).messages)?.toolCalls?.[0];
    expect(call).toMatchObject({ state: "done", output: "drawn" });
    expect(call).not.toHaveProperty("savedState");
  });

  test("keeps its saved state after a timeout", async () => {
    const tool = defineTool({
      name: "draw",
      inputSchema: { type: "object" },
      timeoutMs: 5000,
      execute: (_, { saveState }) => saveState({ task: 7 }).then(() => new Promise<string>(() => {})),
    });
    const { chat, clock } = createChat(responses, { tools: [tool] });
    const turn = await clock.advanceUntil(chat.send("Draw"), 1000);
    expect(findResponse(turn.messages)?.toolCalls).toMatchObject([
      { state: "failed", savedState: { task: 7 } },
    ]);
  });

  test("changes nothing after its call has ended", async () => {
    let late: Context | undefined;
    const tool = createDrawTool((context) => {
      late = context;
      return "drawn";
    });
    const { chat } = createChat(responses, { tools: [tool] });
    await chat.send("Draw");
    const before = chat.getSnapshot().messages;
    late?.attachFile(image);
    late?.reportProgress(1);
    await late?.saveState(1);
    expect(chat.getSnapshot().messages).toEqual(before);
  });
});

describe("files of a response", () => {
  test("survive a reload, and invalid files are ignored", async () => {
    const storage = memoryStorage();
    const { client } = createTestClient((_, nth) => streamResponse(responses[nth - 1] ?? ""));
    const tool = createDrawTool(({ attachFile }) => {
      attachFile(image);
      attachFile(video);
      return "drawn";
    });
    const options = { id: "a", model: "alpha-v4.1-flash", storage, tools: [tool] } as const;
    const before = createChatStore(client, options);
    await before.send("Draw");
    before.close();
    await settled();
    const records = await storage.read("chat/a");
    const [id, record] = [...records].find(([, value]) => JSON.stringify(value).includes("files.test")) ?? [];
    const odd = structuredClone(record) as { message: { files: unknown[]; toolCalls: object[] } };
    odd.message.files.push("a", { type: "text/html", url: "javascript:alert(1)" }, { url: video.url }, null);
    await storage.write("chat/a", new Map([[String(id), odd]]));
    const after = createChatStore(client, options);
    after.subscribe(() => {});
    await expect.poll(() => after.getSnapshot().persistence?.status).not.toBe("restoring");
    expect(findResponse(after.getSnapshot().messages)).toMatchObject({ images: [image.url], files: [video] });
    expect(findResponse(after.getSnapshot().messages)?.files).toHaveLength(1);
  });

  test("are checked in the messages of an app", () => {
    const { client } = createTestClient(() => streamResponse(""));
    const files = [{ type: "text/html", url: "javascript:alert(1)" }];
    expect(() =>
      createChatStore(client, {
        model: "delta-5.3",
        initialMessages: [{ role: "assistant", content: "", files }],
      }),
    ).toThrow(/initialMessages\.0\.files/);
  });
});

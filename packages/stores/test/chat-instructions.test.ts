import { defineTool } from "@sluice/core";
import { createChatStore, memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat } from "./support/chat.js";

const hello = streamText("Hello");
const system = (content: string) => ({ role: "system", content });
const user = (content: string) => ({ role: "user", content });

describe("the instructions of a chat", () => {
  test("are the first message of each request, and not in the thread", async () => {
    const { chat, sent } = createChat([hello], { instructions: "Be brief." });
    await chat.send("one");
    await chat.send("two");
    expect(await sent(0)).toEqual([system("Be brief."), user("one")]);
    expect((await sent(1))?.[0]).toEqual(system("Be brief."));
    expect(chat.getSnapshot().messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("are read for each request: after a tool call, retry, regenerate and reset", async () => {
    let made = 0;
    const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "nothing" });
    const responses = [streamCalls({ a: ["look", "{}"] }), hello, "", hello, hello, hello];
    const { chat, requests, sent } = createChat(responses, {
      tools: [look],
      async instructions() {
        made += 1;
        return `prompt ${made}`;
      },
    });
    await chat.send("one");
    await chat.send("two");
    await chat.retry();
    await chat.regenerate();
    chat.reset();
    await chat.send("three");
    const prompts = await Promise.all(requests.map(async (_, nth) => (await sent(nth))?.slice(0, 2)));
    expect(prompts.map((messages) => messages?.[0])).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => system(`prompt ${n}`)),
    );
    expect(prompts.at(-1)).toEqual([system("prompt 6"), user("three")]);
  });

  test("are never stored: a stored thread continues with the new instructions", async () => {
    const storage = memoryStorage();
    const { client, requests } = createTestClient(() => streamResponse(hello));
    const page = (instructions: string) =>
      createChatStore(client, { id: "c", model: "delta-5.3", storage, instructions });
    const before = page("OLD PROMPT");
    await before.send("one");
    await settled();
    before.close();
    const after = page("NEW PROMPT");
    await after.send("two");
    expect((await requests[1]?.json())?.messages).toEqual([
      system("NEW PROMPT"),
      user("one"),
      { role: "assistant", content: "Hello" },
      user("two"),
    ]);
    await settled();
    expect(JSON.stringify([...(await storage.read("chat/c"))])).not.toContain("PROMPT");
  });

  test("come before the system messages of the thread", async () => {
    const { chat, sent } = createChat([hello], {
      instructions: "Be brief.",
      initialMessages: [{ id: "s", role: "system", content: "The user is Ada." }],
    });
    await chat.send("one");
    expect(await sent(0)).toEqual([system("Be brief."), system("The user is Ada."), user("one")]);
  });

  test("Empty instructions send no system message", async () => {
    const { chat, sent } = createChat([hello], { instructions: () => "" });
    await chat.send("one");
    expect(await sent(0)).toEqual([user("one")]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no session");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no session"))],
  ])("end the turn as not-sent if their function %s, and retry() sends it", async (_, fail) => {
    let instructions: () => string | Promise<string> = fail;
    const { chat, requests } = createChat([hello], { instructions: () => instructions() });
    expect(await chat.send("one")).toMatchObject({
      messages: [user("one")],
      outcome: "not-sent",
      error: { message: "no session" },
    });
    expect(chat.getSnapshot()).toMatchObject({ status: "error", messages: [user("one")] });
    expect(requests).toHaveLength(0);
    instructions = () => "Be brief.";
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(1);
  });

  test("keep the result of a tool if they fail after the call, and retry() continues", async () => {
    let made = 0;
    const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "nothing" });
    const { chat, sent } = createChat([streamCalls({ a: ["look", "{}"] }), hello], {
      tools: [look],
      instructions() {
        made += 1;
        if (made === 2) throw new Error("no session");
        return "Be brief.";
      },
    });
    expect(await chat.send("one")).toMatchObject({
      outcome: "error",
      messages: [{}, { toolCalls: [{}] }],
    });
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect((await sent(1))?.at(-1)).toEqual({ role: "tool", tool_call_id: "a", content: "nothing" });
  });

  test("send nothing if the chat is stopped while they are awaited", async () => {
    let resolvePrompt: (prompt: string) => void = () => {};
    const { chat, requests } = createLiveChat({
      instructions: () =>
        new Promise((resolve) => {
          resolvePrompt = resolve;
        }),
    });
    const turn = chat.send("one");
    await settled();
    chat.stop();
    resolvePrompt("Be brief.");
    expect(await turn).toMatchObject({ outcome: "stopped", messages: [user("one")] });
    await settled();
    expect(requests).toHaveLength(0);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [user("one")] });
  });
});

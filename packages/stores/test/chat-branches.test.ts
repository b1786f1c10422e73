import { defineTool } from "@sluice/core";
import { type ChatMessage, createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat, hasCall, until } from "./support/chat.js";

const responses = ["first", "second", "third", "fourth"].map(streamText);

function listTexts(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ content }) => content);
}

describe("branches of a chat", () => {
  test("regenerate adds a second version, and switchBranch shows either", async () => {
    const { chat, sent } = createChat(responses);
    await chat.send("Hello");
    const [question, first] = chat.getSnapshot().messages as [ChatMessage, ChatMessage];
    expect(first).not.toHaveProperty("branches");
    await chat.regenerate();
    const second = chat.getSnapshot().messages[1] as ChatMessage;
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "second"]);
    expect(second.branches).toEqual([first.id, second.id]);
    expect(question).not.toHaveProperty("branches");
    chat.switchBranch(first.id);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first"]);
    expect(chat.getSnapshot().messages[0]).toBe(question);
    await chat.send("Go on");
    expect((await sent(2))?.map(({ content }) => content)).toEqual(["Hello", "first", "Go on"]);
    chat.switchBranch(second.id);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "second"]);
    chat.switchBranch(first.id);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first", "Go on", "third"]);
  });

  test("edit adds another version of the question, and sends it without the old response", async () => {
    const { chat, sent } = createChat(responses);
    await chat.send("Hello");
    await chat.send("And now?");
    const [first] = chat.getSnapshot().messages as [ChatMessage];
    expect(await chat.edit(first.id, "Good day")).toMatchObject({ outcome: "complete" });
    expect(await sent(2)).toEqual([{ role: "user", content: "Good day" }]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Good day", "third"]);
    chat.switchBranch(first.id);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first", "And now?", "second"]);
  });

  test("regenerate in the middle sends only the messages before the response", async () => {
    const { chat, sent } = createChat(responses);
    await chat.send("Hello");
    await chat.send("And now?");
    await chat.regenerate(chat.getSnapshot().messages[1]?.id);
    expect(await sent(2)).toEqual([{ role: "user", content: "Hello" }]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "third"]);
  });

  test.each([
    ["edit", (chat: ReturnType<typeof createChat>["chat"]) => chat.edit("nobody", "text")],
    ["regenerate", (chat: ReturnType<typeof createChat>["chat"]) => chat.regenerate("nobody")],
    ["regenerate without a question", (chat: ReturnType<typeof createChat>["chat"]) => chat.regenerate()],
    ["retry of nothing", (chat: ReturnType<typeof createChat>["chat"]) => chat.retry()],
  ])("%s reports the problem, and sends nothing", async (_, act) => {
    const { chat, requests } = createChat(responses);
    const turn = await act(chat);
    expect(turn).toMatchObject({ messages: [], outcome: "not-sent", error: { name: "ConfigurationError" } });
    expect(requests).toHaveLength(0);
  });

  test("the text of a failed response stays as a branch when it is retried", async () => {
    const { chat } = createChat([frame({ content: "Hal" }), streamText("Whole")]);
    expect(await chat.send("Hello")).toMatchObject({ outcome: "truncated" });
    const cut = chat.getSnapshot().messages[1] as ChatMessage;
    await chat.retry();
    const whole = chat.getSnapshot().messages[1] as ChatMessage;
    expect(whole).toMatchObject({ content: "Whole", outcome: "complete", branches: [cut.id, whole.id] });
    chat.switchBranch(cut.id);
    expect(chat.getSnapshot().messages[1]).toMatchObject({ content: "Hal", outcome: "truncated" });
  });

  test("a response that never began leaves no branch after a retry", async () => {
    const { client } = createTestClient((_, nth) =>
      nth === 1 ? new Response("no", { status: 400 }) : streamResponse(streamText("Hi")),
    );
    const chat = createChatStore(client, { model: "delta-5.3" });
    expect(await chat.send("Hello")).toMatchObject({ outcome: "error" });
    await chat.retry();
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "Hi"]);
    expect(chat.getSnapshot().messages[1]).not.toHaveProperty("branches");
  });

  test("a new version is shown even if another version was chosen before", async () => {
    const { chat } = createChat(responses);
    await chat.send("Hello");
    const first = chat.getSnapshot().messages[1] as ChatMessage;
    await chat.regenerate();
    chat.switchBranch(first.id);
    await chat.regenerate();
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "third"]);
    expect(chat.getSnapshot().messages[1]?.branches).toHaveLength(3);
  });

  test("tools continue in the branch that called them while another branch is shown", async () => {
    let finish: (text: string) => void = () => {};
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    });
    const { chat, sent } = createChat(
      [streamText("first"), streamCalls({ a: ["slow", "{}"] }), streamText("second")],
      {
        tools: [slow],
      },
    );
    await chat.send("Hello");
    const first = chat.getSnapshot().messages[1] as ChatMessage;
    const turn = chat.regenerate();
    await until(chat, hasCall("running"));
    await settled();
    chat.switchBranch(first.id);
    finish("done");
    await turn;
    expect((await sent(2))?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first"]);
  });

  test("another branch can be shown while a response streams", async () => {
    const { chat, clock, connections } = createLiveChat();
    const [one, two] = connections;
    const first = chat.send("Hello");
    one?.send(streamText("first"));
    one?.end();
    await first;
    const firstResponse = chat.getSnapshot().messages[1] as ChatMessage;
    const second = chat.regenerate();
    await two?.wanted();
    two?.send(frame({ content: "sec" }));
    await two?.wanted();
    await clock.advance(50);
    chat.switchBranch(firstResponse.id);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first"]);
    two?.send(streamText("ond"));
    two?.end();
    const turn = await second;
    expect(turn.messages).toMatchObject([{ content: "second", outcome: "complete" }]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "first"]);
    chat.switchBranch(turn.messages[0]?.id ?? "");
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Hello", "second"]);
  });

  test("setMessages replaces the thread, and the next question follows it", async () => {
    const { chat, sent } = createChat(responses);
    await chat.send("Hello");
    chat.setMessages([
      { id: "s", role: "system", content: "Be brief." },
      { id: "u", role: "user", content: "Hi" },
    ]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["Be brief.", "Hi"]);
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ content: "second" }] });
    expect(await sent(1)).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
    ]);
  });
});

describe("a message during a response", () => {
  test('is queued with "queue", shown as queued, and sent after the response, in order', async () => {
    const { chat, connections, requests } = createLiveChat({ whenBusy: "queue" });
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }, { content: "three" }]);
    expect(await chat.regenerate()).toMatchObject({ outcome: "not-sent" });
    for (const connection of connections.slice(0, 3)) {
      connection.send(streamText("answer"));
      connection.end();
    }
    expect(await Promise.all(turns)).toMatchObject(turns.map(() => ({ outcome: "complete" })));
    expect(listTexts(chat.getSnapshot().messages)).toEqual([
      "one",
      "answer",
      "two",
      "answer",
      "three",
      "answer",
    ]);
    expect(chat.getSnapshot().queued).toEqual([]);
    expect((await (requests[2] as Request).json()).messages).toHaveLength(5);
  });

  test("is not sent after stop if it was queued", async () => {
    const { chat, requests } = createLiveChat({ whenBusy: "queue" });
    const turns = [chat.send("one"), chat.send("two")];
    await settled();
    chat.stop();
    expect(await Promise.all(turns)).toMatchObject([
      { outcome: "stopped" },
      { outcome: "not-sent", error: { name: "AbortError" } },
    ]);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", queued: [] });
    expect(requests).toHaveLength(1);
  });

  test("A queued message can be cancelled, and the others are sent", async () => {
    const { chat, connections } = createLiveChat({ whenBusy: "queue" });
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    chat.cancelQueued(chat.getSnapshot().queued[0]?.id ?? "");
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "three" }]);
    for (const connection of connections.slice(0, 2)) {
      connection.send(streamText("answer"));
      connection.end();
    }
    expect(await Promise.all(turns)).toMatchObject([
      { outcome: "complete" },
      { outcome: "not-sent", error: { name: "AbortError" } },
      { outcome: "complete" },
    ]);
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["one", "answer", "three", "answer"]);
  });

  test('replaces the response with "replace": the old text stays out of the new response', async () => {
    const { chat, clock, connections } = createLiveChat({ whenBusy: "replace" });
    const [one, two] = connections;
    const first = chat.send("one");
    await one?.wanted();
    one?.send(frame({ content: "old" }));
    await one?.wanted();
    const second = chat.send("two");
    expect(await first).toMatchObject({ outcome: "stopped" });
    await two?.wanted();
    two?.send(frame({ content: "new" }));
    await two?.wanted();
    await clock.advance(50);
    expect(one?.cancelled).toBe(true);
    two?.send(streamText("er"));
    two?.end();
    await second;
    expect(listTexts(chat.getSnapshot().messages)).toEqual(["one", "old", "two", "newer"]);
  });

  test("replaces the response even if the app sends another message from onFinish", async () => {
    const { client } = createTestClient(() => streamResponse(new ReadableStream()));
    let sendAgain = true;
    const chat = createChatStore(client, () => ({
      model: "delta-5.3" as const,
      whenBusy: "replace" as const,
      onFinish: () => {
        if (sendAgain) void chat.send("three");
        sendAgain = false;
      },
    }));
    void chat.send("one");
    await settled();
    void chat.send("two");
    await settled();
    expect(listTexts(chat.getSnapshot().messages).filter(Boolean)).toEqual(["one", "two", "three"]);
    chat.stop();
  });

  test("is accepted from onFinish, because the chat is ready", async () => {
    const { client, requests } = createTestClient(() => streamResponse(streamText("Hi")));
    let sendAgain = true;
    const chat = createChatStore(client, () => ({
      model: "delta-5.3" as const,
      onFinish: () => {
        if (sendAgain) void chat.send("again");
        sendAgain = false;
      },
    }));
    await chat.send("Hello");
    await settled();
    expect(requests).toHaveLength(2);
    expect(chat.getSnapshot().messages).toHaveLength(4);
  });
});

import { type ChatStoreOptions, createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, frame, settled } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat } from "./support/chat.js";

const hello = streamText("Hello");
type InitialMessages = NonNullable<ChatStoreOptions["initialMessages"]>;

const given: InitialMessages = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "How can I help?" },
];

describe("initial messages of a chat", () => {
  test.each(["initialMessages", "setMessages"])("Messages without ids get ids: %s", async (how) => {
    const { chat, sent } = createChat([hello], how === "initialMessages" ? { initialMessages: given } : {});
    if (how === "setMessages") chat.setMessages(given);
    const { messages } = chat.getSnapshot();
    expect(messages).toMatchObject([
      { role: "user", content: "Hi" },
      { role: "assistant", content: "How can I help?", outcome: "complete" },
    ]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(2);
    await chat.send("Tell me");
    expect(await sent(0)).toMatchObject([...given, { role: "user", content: "Tell me" }]);
  });

  test("keep their ids", () => {
    const { chat } = createChat([hello], { initialMessages: [{ id: "u-1", role: "user", content: "Hi" }] });
    expect(chat.getSnapshot().messages).toEqual([{ id: "u-1", role: "user", content: "Hi" }]);
  });

  test.each([
    ["1.role", { role: "developer", content: "Hi" }, /system, user, assistant; got "developer"/],
    ["1.content", { role: "user", parts: [{ type: "text", text: "Hi" }] }, /`parts`/],
    ["1.content", { role: "user", content: [{ type: "text", text: "Hi" }] }, /text/],
    ["1.id", { id: 7, role: "user", content: "Hi" }, /text/],
    ["1.id", { id: "u-1", role: "user", content: "Hi" }, /earlier message/],
    ["1.toolCalls", { role: "assistant", content: "", toolCalls: [null] }, /calls/],
    ["1.images", { role: "user", content: "", images: [{}] }, /URLs/],
    ["1", "Hi", /\{ role, content \}/],
  ])("are rejected if they are invalid, and the error names %s", (path, message, expected) => {
    const messages = [{ id: "u-1", role: "user", content: "Hi" }, message] as InitialMessages;
    const { client } = createTestClient(() => new Response());
    const make = () => createChatStore(client, { model: "delta-5.3", initialMessages: messages });
    expect(make).toThrow(expected);
    expect(make).toThrow(`initialMessages.${path}:`);
    const { chat } = createChat([hello], { initialMessages: given });
    const before = chat.getSnapshot().messages;
    expect(() => chat.setMessages(messages)).toThrow(`messages.${path}:`);
    expect(chat.getSnapshot().messages).toBe(before);
  });
});

describe("a message without text and images", () => {
  test.each(["", " \n\t"])("is not sent and not added: %j", async (text) => {
    const { chat, requests } = createChat([hello]);
    const refused = {
      messages: [],
      outcome: "not-sent",
      error: { name: "ValidationError", issues: [{ path: "content" }] },
    };
    expect(await chat.send(text)).toMatchObject(refused);
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready", error: undefined });
    await chat.send("Hi");
    const [{ id } = { id: "" }] = chat.getSnapshot().messages;
    expect(await chat.edit(id, text)).toMatchObject(refused);
    expect(chat.getThread().filter(({ message }) => message.role === "user")).toHaveLength(1);
    expect(requests).toHaveLength(1);
  });

  test.each(["queue", "replace"] as const)(
    "does not wait for the response in flight and does not end it: whenBusy %s",
    async (whenBusy) => {
      const { chat, connections } = createLiveChat({ whenBusy });
      const turn = chat.send("Hi");
      expect(await chat.send(" ")).toMatchObject({ outcome: "not-sent" });
      expect(chat.getSnapshot().queued).toEqual([]);
      connections[0]?.send(hello);
      connections[0]?.end();
      expect(await turn).toMatchObject({ outcome: "complete" });
    },
  );

  test("A message with an image and without text is sent", async () => {
    const { chat, requests } = createChat([hello]);
    const images = ["https://files.test/a.png"];
    expect(await chat.send("", { images })).toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(1);
  });
});

describe("a call of retry, regenerate or edit that can send nothing", () => {
  test("resolves to a not-sent turn, and does not change the chat", async () => {
    const finished: unknown[] = [];
    const { chat } = createChat([hello], { onFinish: ({ outcome }) => finished.push(outcome) });
    await chat.send("Hi");
    for (const turn of [
      await chat.retry(),
      await chat.regenerate("nothing"),
      await chat.edit("nothing", "Hi"),
    ])
      expect(turn).toMatchObject({
        messages: [],
        outcome: "not-sent",
        error: { name: "ConfigurationError" },
      });
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    await settled();
    expect(finished).toEqual(["complete"]);
  });

  test("keeps the error of the last turn", async () => {
    const { chat } = createChat([frame({ content: "Hel" })]);
    await chat.send("Hi");
    await chat.edit("nothing", "Hi");
    expect(chat.getSnapshot()).toMatchObject({ status: "error", error: { reason: "truncated" } });
  });

  test("does not stop queued messages", async () => {
    const { chat, connections } = createLiveChat({ whenBusy: "queue" });
    const first = chat.send("one");
    const [{ id } = { id: "" }] = chat.getSnapshot().messages;
    const turns = [chat.edit("nothing", "two"), chat.edit(id, "three")];
    for (const connection of connections) {
      connection.send(hello);
      connection.end();
    }
    expect((await first).outcome).toBe("complete");
    expect((await Promise.all(turns)).map(({ outcome }) => outcome)).toEqual(["not-sent", "complete"]);
  });
});

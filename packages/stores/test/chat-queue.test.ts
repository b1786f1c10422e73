import { defineTool } from "@sluice/core";
import { type ChatStoreOptions, createChatStore, memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, DONE, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createLiveChat } from "./support/chat.js";

const model = "alpha-v4.1-flash";
const whenBusy = "queue" as const;
const guarded = defineTool({
  name: "pay",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
const pays = streamCalls({ a: ["pay", "{}"] });
const hello = streamText("Hello");

/** Creates a chat with a queue whose responses arrive at once. */
function createQueuedChat(
  responses: readonly (string | (() => Response))[],
  options: Partial<ChatStoreOptions> = {},
) {
  const { client, requests } = createTestClient(
    (_, nth) => {
      const response = responses[nth - 1] ?? hello;
      return typeof response === "string" ? streamResponse(response) : response();
    },
    { retry: { limit: 0 } },
  );
  const chat = createChatStore(client, { model, whenBusy, ...options } as ChatStoreOptions);
  const texts = () =>
    chat.getSnapshot().messages.flatMap(({ role, content }) => (role === "user" ? content : []));
  return { chat, requests, texts };
}

const createRefusal = () => Response.json({ error: { message: "who?" } }, { status: 401 });

describe("the queue of a chat", () => {
  test("A queued message waits while a tool call waits for the user, and both are shown", async () => {
    const { chat, requests, texts } = createQueuedChat([pays, hello], { tools: [guarded] });
    const first = chat.send("Pay Bob");
    const thanks = chat.send("Thanks");
    expect(await first).toMatchObject({ outcome: "tool-calls" });
    await settled();
    expect(chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [{ toolCallId: "a" }],
      queued: [{ content: "Thanks" }],
    });
    expect(requests).toHaveLength(1);
    expect(await chat.approve("a")).toMatchObject({ outcome: "complete" });
    expect(await thanks).toMatchObject({ outcome: "complete" });
    expect(texts()).toEqual(["Pay Bob", "Thanks"]);
    expect(chat.getSnapshot()).toMatchObject({ queued: [], status: "ready" });
  });

  test.each<[string, (string | (() => Response))[]]>([
    ["status 401", [createRefusal]],
    ["status 429", [() => new Response("", { status: 429, headers: { "retry-after": "86400" } })]],
    ["a cut", [frame({ content: "Hel" })]],
    ["no capacity", [frame({ content: "Hel" }) + frame({}, "insufficient_system_resource") + DONE]],
    ["the limit of steps", [streamCalls({ a: ["none", "{}"] })]],
  ])("Queued messages stay after %s, and follow the retry that succeeds", async (_, responses) => {
    const { chat, requests, texts } = createQueuedChat(responses, { maxSteps: 1 });
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    await turns[0];
    await settled();
    expect(requests).toHaveLength(1);
    expect(texts()).toEqual(["one"]);
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }, { content: "three" }]);
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect((await Promise.all(turns.slice(1))).map(({ outcome }) => outcome)).toEqual([
      "complete",
      "complete",
    ]);
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(requests).toHaveLength(4);
  });

  test("retry() sends the failed turn again, the others follow, and then there is nothing to retry", async () => {
    const { chat, texts } = createQueuedChat([createRefusal]);
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    await turns[0];
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ content: "Hello" }] });
    await Promise.all(turns);
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(await chat.retry()).toMatchObject({
      outcome: "not-sent",
      error: { name: "ConfigurationError" },
    });
  });

  test("retry() sends nothing while a response is in flight", async () => {
    const { chat, requests } = createLiveChat({ whenBusy });
    void chat.send("one");
    void chat.send("two");
    expect(await chat.retry()).toMatchObject({ outcome: "not-sent" });
    await settled();
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
    chat.stop();
  });

  test("A new message is sent before the queued messages of a failed turn", async () => {
    const { chat, texts } = createQueuedChat([createRefusal]);
    const turns = [chat.send("one"), chat.send("two")];
    await turns[0];
    expect(await chat.send("three")).toMatchObject({ outcome: "complete" });
    await turns[1];
    expect(texts()).toEqual(["one", "three", "two"]);
  });

  test("A queued message that can't be added is dropped, and the following messages are sent", async () => {
    const { chat, texts } = createQueuedChat([hello], { model: "gamma-chat-1-6-251015" });
    const image = new Blob(["no picture"]);
    const turns = [chat.send("one"), chat.send("two", { images: [image] }), chat.send("three")];
    expect(await Promise.all(turns)).toMatchObject([
      { outcome: "complete" },
      { outcome: "not-sent", messages: [], error: { name: "ValidationError" } },
      { outcome: "complete" },
    ]);
    expect(texts()).toEqual(["one", "three"]);
    expect(chat.getSnapshot().queued).toEqual([]);
  });
});

test.each([
  ["without a storage", {}],
  ["with a storage", { id: "queue", storage: memoryStorage() }],
])("A queue %s ends with close(), and its turns say so", async (_, options) => {
  const { chat } = createLiveChat({ whenBusy, ...options });
  const turns = [chat.send("one"), chat.send("two")];
  await settled();
  expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
  chat.close();
  expect((await Promise.all(turns)).map(({ outcome }) => outcome)).toEqual(["stopped", "not-sent"]);
  expect(chat.getSnapshot().queued).toEqual([]);
});

import { type ChatRequestMessage, defineTool } from "@sluice/core";
import { type ChatStoreOptions, createChatStore } from "@sluice/stores";
import { describe, expect, test, vi } from "vitest";
import { createTestClient, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat } from "./support/chat.js";

type Prepare = NonNullable<ChatStoreOptions["prepareMessages"]>;
type Messages = readonly ChatRequestMessage[];

const hello = streamText("Hello");
const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "nothing" });
const system = (content: string) => ({ role: "system", content });
const user = (content: string) => ({ role: "user", content });
const lost = (id: string) => ({
  role: "assistant" as const,
  content: "",
  tool_calls: [{ id, type: "function" as const, function: { name: "look", arguments: "{}" } }],
});
const never = new Promise<never>(() => {});

describe("prepareMessages", () => {
  test.each<[string, Prepare]>([
    ["at once", (messages) => messages.slice(0, 1)],
    ["later", async (messages) => messages.slice(0, 1)],
  ])("gets the instructions and the thread, and its result is sent: %s", async (_, prepare) => {
    const prepareMessages = vi.fn(prepare);
    const { chat, sent } = createChat([hello], { instructions: "Be brief.", prepareMessages });
    await chat.send("one");
    expect(prepareMessages.mock.lastCall?.[0]).toEqual([system("Be brief."), user("one")]);
    expect(await sent(0)).toEqual([system("Be brief.")]);
    expect(chat.getSnapshot().messages).toMatchObject([user("one"), { content: "Hello" }]);
  });

  test("is called for each request, including requests after tools, and gets a result for each call", async () => {
    const seen: Messages[] = [];
    const { chat, requests } = createChat([streamCalls({ a: ["look", "{}"] }), hello], {
      tools: [look],
      prepareMessages(messages) {
        seen.push(messages);
        return messages;
      },
    });
    await chat.send("one");
    await chat.regenerate();
    expect(requests).toHaveLength(3);
    expect(seen.map((messages) => messages.map(({ role }) => role))).toEqual([
      ["user"],
      ["user", "assistant", "tool"],
      ["user"],
    ]);
  });

  test("never changes the thread, even if it changes its messages", async () => {
    const { chat, sent } = createChat([streamCalls({ a: ["look", '{"at":1}'] }), hello], {
      tools: [look],
      prepareMessages(messages) {
        for (const message of messages as unknown as {
          content: unknown;
          tool_calls?: { function: object }[];
        }[]) {
          message.content = "redacted";
          for (const call of message.tool_calls ?? []) Object.assign(call.function, { arguments: "{}" });
        }
        (messages as ChatRequestMessage[]).reverse();
        return [{ role: "user", content: "only this" }];
      },
    });
    await chat.send("secret", { images: ["https://example.com/a.png"] });
    await chat.send("more");
    const before = chat.getSnapshot().messages;
    expect(before).toMatchObject([
      { content: "secret", images: ["https://example.com/a.png"] },
      { toolCalls: [{ arguments: '{"at":1}', output: "nothing" }] },
      { content: "Hello" },
      { content: "more" },
      { content: "Hello" },
    ]);
    expect(await sent(2)).toEqual([user("only this")]);
  });

  test.each<[string, Prepare]>([
    [
      "throws",
      () => {
        throw new Error("not allowed");
      },
    ],
    ["rejects", () => Promise.reject(new Error("not allowed"))],
  ])("ends the turn as not-sent if it %s, and retry() sends it", async (_, fail) => {
    let prepareMessages = fail;
    const { chat, requests } = createChat([hello], {
      prepareMessages: (...given) => prepareMessages(...given),
    });
    expect(await chat.send("one")).toMatchObject({
      messages: [user("one")],
      outcome: "not-sent",
      error: { message: "not allowed" },
    });
    expect(requests).toHaveLength(0);
    prepareMessages = (messages) => messages;
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
  });

  test("keeps the result of a tool if it fails after the call, and retry() continues", async () => {
    let calls = 0;
    const { chat, sent } = createChat([streamCalls({ a: ["look", "{}"] }), hello], {
      tools: [look],
      prepareMessages(messages) {
        calls += 1;
        if (calls === 2) throw new Error("not allowed");
        return messages;
      },
    });
    expect(await chat.send("one")).toMatchObject({ outcome: "error" });
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect((await sent(1))?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });

  test.each<[string, unknown, object]>([
    ["nothing", undefined, { name: "ConfigurationError", message: /must return the list of messages/ }],
    ["a text", "Hello", { name: "ConfigurationError", message: /must return the list of messages/ }],
    ["a list with null", [null], { name: "ConfigurationError", message: /must return the list/ }],
    ["no messages", [], { name: "ValidationError", issues: [{ path: "messages" }] }],
    ["an unknown role", [{ role: "bot", content: "a" }], { name: "ValidationError" }],
    ["a number as text", [user("a"), { role: "user", content: 1 }], { name: "ValidationError" }],
  ])(
    "ends the turn as not-sent if it returns %s",
    async (_, returned, { message, ...error }: { message?: RegExp }) => {
      const { chat, requests } = createChat([hello], { prepareMessages: () => returned as Messages });
      const turn = await chat.send("one");
      expect(turn).toMatchObject({ outcome: "not-sent", error });
      if (message) expect(turn.error?.message).toMatch(message);
      expect(requests).toHaveLength(0);
    },
  );

  test("A call without a result gets one with a warning, and a result without its call is omitted", async () => {
    const issues: string[] = [];
    const { client, requests } = createTestClient(() => streamResponse(hello), {
      onEvent: (event) => event.type === "warning" && issues.push(event.issue.path),
    });
    const chat = createChatStore(client, {
      model: "alpha-v4.1-flash",
      prepareMessages: (messages) => [
        { role: "tool", tool_call_id: "a", content: "alone" },
        lost("b"),
        ...messages,
      ],
    });
    await chat.send("one");
    const { messages } = (await requests[0]?.json()) ?? {};
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["assistant", "tool", "user"]);
    expect(messages[1]).toMatchObject({ tool_call_id: "b", content: expect.stringContaining("cancelled") });
    expect(issues).toContain("prepareMessages");
  });

  test("gives no warning for a history that it cuts between a call and its result", async () => {
    const issues: string[] = [];
    const { client } = createTestClient(
      (_, nth) => streamResponse(nth === 1 ? streamCalls({ a: ["look", "{}"] }) : hello),
      {
        onEvent: (event) => event.type === "warning" && issues.push(event.issue.path),
      },
    );
    const chat = createChatStore(client, {
      model: "alpha-v4.1-flash",
      tools: [look],
      prepareMessages: (messages) => messages.slice(-3),
    });
    await chat.send("one");
    await chat.send("two");
    expect(issues).toEqual([]);
  });

  test("ends with stop() if it never settles, and its signal aborts", async () => {
    let signal: AbortSignal | undefined;
    const { chat, requests } = createChat([hello], {
      prepareMessages(_, context) {
        signal = context.signal;
        return never;
      },
    });
    const turn = chat.send("one");
    await settled();
    expect(chat.getSnapshot().status).toBe("submitted");
    chat.stop();
    expect(await turn).toMatchObject({ outcome: "stopped", messages: [user("one")] });
    expect(signal?.aborted).toBe(true);
    expect(requests).toHaveLength(0);
    expect(chat.getSnapshot().status).toBe("ready");
  });

  test("ends after timeout.totalMs if it never settles", async () => {
    const { chat, clock, requests } = createChat([hello], {
      timeout: { totalMs: 5000 },
      prepareMessages: () => never,
    });
    const turn = await clock.advanceUntil(chat.send("one"), 1000);
    expect(turn).toMatchObject({
      outcome: "not-sent",
      error: { name: "TimeoutError", phase: "total", billing: "none" },
    });
    expect(requests).toHaveLength(0);
  });

  test("does not change a turn that was stopped before its late result", async () => {
    let resolveMessages: (messages: Messages) => void = () => {};
    const { chat, requests } = createChat([hello], {
      prepareMessages: (messages) =>
        messages.length === 1
          ? new Promise((resolve) => {
              resolveMessages = () => resolve(messages);
            })
          : messages,
    });
    void chat.send("one");
    await settled();
    chat.stop();
    await chat.send("two");
    resolveMessages([]);
    await settled();
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().messages.map(({ content }) => content)).toEqual(["one", "two", "Hello"]);
  });
});

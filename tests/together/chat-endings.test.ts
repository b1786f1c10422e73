import { createClient, defineTool } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type ChatStoreOptions, createChatStore } from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { until } from "../../packages/stores/test/support/chat.js";

/** Creates a chat with its own gateway. The test advances the time of its client. */
function createChat(options: Partial<ChatStoreOptions> = {}) {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const clock = stoppedClock();
  const client = createClient({
    baseURL: "https://gateway.test",
    apiKey: "sk-test",
    fetch: emulator.fetch,
    clock,
    retry: { limit: 0 },
    // some of its responses end with a warning
    onEvent: () => {},
  });
  const model = "alpha-v4.1-flash";
  const chat = createChatStore(client, { model, throttleMs: 0, ...options } as ChatStoreOptions);
  return { chat, clock, emulator };
}

describe("the end of a response is shown on its message, on the turn and in the state", () => {
  test.each([
    ["", "complete", undefined],
    ["[[length]]", "length", undefined],
    ["[[filter]]", "content-filter", undefined],
    ["[[unconfirmed]]", "unconfirmed", undefined],
    ["[[truncate]]", "truncated", { name: "StreamError", reason: "truncated" }],
    ["[[drop]]", "truncated", { name: "StreamError", reason: "truncated" }],
    ["[[malformed]]", "error", { name: "StreamError", reason: "malformed" }],
    ["[[error-frame]]", "error", { name: "StreamError", reason: "server-error" }],
    ["[[stall]]", "error", { name: "TimeoutError", phase: "chunk" }],
  ])("%s: %s", async (fault, outcome, error) => {
    const { chat, clock } = createChat();
    const sent = chat.send(`Tell me of rivers ${fault}`);
    if (fault === "[[stall]]") {
      await until(chat, ({ messages }) => Boolean(messages[1]?.content));
      await clock.advanceUntil(sent, 10_000);
    }
    const turn = await sent;
    const reply = turn.messages[1];
    const expected = { outcome, ...(error && { error }) };
    expect(turn).toMatchObject(expected);
    expect(reply).toMatchObject(expected);
    expect("error" in turn).toBe(error !== undefined);
    expect(reply?.content).not.toBe("");
    expect(chat.getSnapshot()).toMatchObject({
      status: error ? "error" : "ready",
      error: error ?? undefined,
    });
    // the failure does not block the next message
    expect(await chat.send("And of lakes?")).toMatchObject({ outcome: "complete" });
  });

  test.each(["[[429]]", "[[500]]"])("%s: a refusal without a text", async (fault) => {
    const { chat } = createChat();
    expect(await chat.send(`Tell me of rivers ${fault}`)).toMatchObject({
      outcome: "error",
      error: { name: "APIError", status: Number(fault.slice(2, 5)) },
      messages: [{}, { content: "", outcome: "error" }],
    });
  });
});

test("No tool of a response without a finish_reason runs", async () => {
  const runs: unknown[] = [];
  const add = defineTool({
    name: "add",
    inputSchema: v.object({ a: v.number(), b: v.number() }),
    execute: (input) => runs.push(input),
  });
  const { chat, emulator } = createChat({ tools: [add] });
  const turn = await chat.send("Use the add tool [[unconfirmed]]");
  expect(turn).toMatchObject({
    outcome: "unconfirmed",
    messages: [{}, { toolCalls: [{ state: "cancelled" }] }],
  });
  expect([runs, emulator.requests.length]).toEqual([[], 1]);
});

describe("a chat and the gateway", () => {
  test("complete a tool loop: call, result, thinking sent back, reply", async () => {
    const add = defineTool({
      name: "add",
      description: "Adds two numbers",
      inputSchema: v.object({ a: v.number(), b: v.number() }),
      execute: ({ a, b }) => a + b,
    });
    const { chat, emulator } = createChat({ tools: [add] });
    const turn = await chat.send("Use the add tool");
    expect(turn).toMatchObject({ outcome: "complete" });
    expect(turn.messages.find(({ toolCalls }) => toolCalls)?.toolCalls).toMatchObject([
      { name: "add", state: "done", output: expect.any(Number) },
    ]);
    expect(emulator.requests.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("return a value of a schema", async () => {
    const { chat } = createChat({ outputSchema: v.looseObject({}) });
    const turn = await chat.send("Answer as JSON [[json]]");
    expect(turn).toMatchObject({ outcome: "complete" });
    expect(chat.getSnapshot().output).toEqual(JSON.parse(turn.messages[1]?.content ?? ""));
  });

  test("show an image to the model", async () => {
    const { chat } = createChat();
    const dot =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    expect(await chat.send("What is it?", { images: [dot] })).toMatchObject({ outcome: "complete" });
  });
});

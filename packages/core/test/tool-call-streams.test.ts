import { completeChat, defineTool, streamChat, toResponse } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { createChat } from "../../stores/test/support/chat.js";
import { createFold } from "../src/chat/protocol/accumulate.js";
import { createCallReader } from "../src/chat/protocol/call-reader.js";
import { createResponseReader } from "../src/chat/protocol/response-reader.js";
import { catchError, createTestClient, DONE, frame, question, streamResponse } from "./support/gateway.js";
import { streamText } from "./support/reply-streams.js";
import { type CallStream, createCallStreams } from "./support/tool-call-streams.js";

/** Reads a stream as `streamChat` does, without a request. Undefined for an error. */
function read({ chunks }: CallStream) {
  const fold = createFold();
  const reader = createResponseReader(fold.add, createCallReader, () => {});
  for (const tool_calls of chunks) reader.read({ choices: [{ index: 0, delta: { tool_calls } }] });
  reader.read({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] });
  if (reader.problem) return undefined;
  reader.finish();
  return reader.toResult(fold.message, { totalMs: 0 }).toolCalls;
}

/** Returns the calls that a chat runs: none if one has broken arguments. */
function run(stream: CallStream): string {
  const calls = read(stream) ?? [];
  const areWhole = calls.every(({ input, arguments: text }) => text === "" || input !== undefined);
  return JSON.stringify(
    areWhole ? calls.map(({ name, arguments: text }) => ({ name, arguments: text })) : [],
  );
}

/** An entry without any content may be left out. */
function describeCalls(meaning: CallStream["meanings"][number]): string {
  return JSON.stringify(meaning.filter(({ name, arguments: text }) => name || text));
}

test.each([
  ["one call", "0"],
  ["one call with arguments", "1"],
  ["two calls", "00"],
  ["two calls, the second with arguments", "01"],
  ["two calls, the first with arguments", "10"],
  ["two calls with arguments", "12"],
  ["three calls", "102"],
])("%s never run with the name or the arguments of another one, whatever fields are missing", (_, list) => {
  const streams = createCallStreams([list]);
  const wrong = streams.filter((stream) => {
    const calls = run(stream);
    const isRight = stream.meanings.some((meaning) => describeCalls(meaning) === calls);
    return !isRight && (stream.isReadable || (stream.isUnambiguous && calls !== "[]"));
  });
  expect(streams.length).toBeGreaterThan(500);
  expect(wrong.slice(0, 3)).toEqual([]);
});

describe("a gateway without ids of tool calls", () => {
  const call = (name: string | null, text: string, rest: object = {}) =>
    frame({ tool_calls: [{ index: 0, function: { name, arguments: text }, ...rest }] });
  const end = frame({}, "tool_calls") + DONE;
  const readCalls = (...frames: string[]) => chatWith(frames.join("") + end);

  function chatWith(text: string) {
    const ran: [string, unknown][] = [];
    const tools = ["read_note", "delete_note", "refresh"].map((name) =>
      defineTool({ name, inputSchema: { type: "object" }, execute: (input) => ran.push([name, input]) }),
    );
    return { ...createChat([text, streamText("Done.")], { tools }), ran };
  }

  test.each([
    ["with one index for all", {}],
    ["with no index", { index: undefined }],
    ["with blank ids", { id: "" }],
  ])("runs each tool with its own arguments: %s", async (_, rest) => {
    const { chat, ran } = readCalls(call("read_note", '{"id":7}', rest), call("delete_note", "", rest));
    expect(await chat.send("Read 7")).toMatchObject({ outcome: "complete" });
    expect(ran).toEqual([
      ["read_note", { id: 7 }],
      ["delete_note", {}],
    ]);
    const other = readCalls(call("refresh", "", rest), call("delete_note", '{"id":7}', rest));
    await other.chat.send("Delete 7");
    expect(other.ran).toEqual([
      ["refresh", {}],
      ["delete_note", { id: 7 }],
    ]);
  });

  test("runs a tool once for each call, with the arguments of that call", async () => {
    const { chat, ran } = readCalls(...[1, 2, 3].map((id) => call("read_note", `{"id":${id}}`)));
    await chat.send("Read all");
    expect(ran.map(([, input]) => input)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  test("rejects arguments that may belong to several calls, and runs no tool", async () => {
    const { chat, ran, requests, sent } = readCalls(
      call("refresh", ""),
      call("delete_note", ""),
      call(null, '{"id":7}'),
    );
    const { outcome, error } = await chat.send("Delete 7");
    expect(outcome).toBe("error");
    expect(error).toMatchObject({
      name: "StreamError",
      reason: "malformed",
      message: expect.stringMatching(/to which tool call .* no tool runs/),
    });
    expect([ran, requests.length]).toEqual([[], 1]);
    await chat.send("Go on");
    expect((await sent(1)).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
  });

  test("ignores a name that repeats after complete arguments", async () => {
    const { chat, ran } = readCalls(call("delete_note", '{"id":7}'), call("delete_note", ""));
    expect(await chat.send("Delete 7")).toMatchObject({ outcome: "error" });
    expect(ran).toEqual([]);
  });
});

describe("a tool call without a name", () => {
  const nameless = { index: 0, id: "a", function: { name: " ", arguments: '{"to":"x"}' } };
  const named = { index: 1, id: "b", function: { name: "pay", arguments: "{}" } };
  const streamed = frame({ content: "Hm", tool_calls: [nameless, named] }) + frame({}, "tool_calls") + DONE;

  test("is an error that says so, and no tool runs", async () => {
    const paid: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      inputSchema: { type: "object" },
      execute: (input) => paid.push(input),
    });
    const { chat, sent } = createChat([streamed, streamText("Done.")], { tools: [pay] });
    const { error } = await chat.send("Pay x");
    expect(error).toMatchObject({ name: "StreamError", message: expect.stringContaining("without a name") });
    expect(paid).toEqual([]);
    await chat.send("Go on");
    const calls = (await sent(1)).flatMap(({ tool_calls: list = [] }) => list as { function: object }[]);
    expect(calls.map(({ function: fn }) => fn)).toMatchObject([{ name: "pay" }]);
  });

  test("is not sent again from a chat that an earlier version has stored", async () => {
    const toolCalls = ["", "pay"].map((name) => ({
      id: `call-${name}`,
      name,
      arguments: "{}",
      input: {},
      state: "done" as const,
      output: "ok",
    }));
    const stored = {
      id: "1",
      role: "assistant" as const,
      content: "",
      toolCalls,
      outcome: "tool-calls" as const,
    };
    const { chat, sent } = createChat([streamText("Done.")], { initialMessages: [stored] });
    await chat.send("Go on");
    expect((await sent(0)).slice(0, 2)).toMatchObject([
      { tool_calls: [{ function: { name: "pay" } }] },
      { role: "tool", tool_call_id: "call-pay" },
    ]);
  });

  test("turns a whole response into a ResponseError that names the field", async () => {
    const message = { role: "assistant", content: null, tool_calls: [nameless] };
    const { client } = createTestClient(() =>
      Response.json({ choices: [{ message, finish_reason: "tool_calls" }] }),
    );
    expect(await catchError(completeChat(client, question))).toMatchObject({
      name: "ResponseError",
      path: "choices.message.tool_calls",
    });
  });
});

test.each(["completeChat", "streamChat"])(
  "reads each entry of a whole response as a separate call: %s",
  async (name) => {
    const fn = { name: "pay", arguments: "" };
    const tool_calls = [1, 2, 3].map(() => ({ index: 0, id: "call", function: fn }));
    const message = { role: "assistant", content: null, tool_calls };
    const { client } = createTestClient(() =>
      Response.json({ choices: [{ message, finish_reason: "tool_calls" }] }),
    );
    const { toolCalls } =
      name === "completeChat"
        ? await completeChat(client, question)
        : await streamChat(client, question).result();
    expect([toolCalls.length, new Set(toolCalls.map(({ id }) => id)).size]).toEqual([3, 3]);
  },
);

test("warns about a response that announces tool calls but has none", async () => {
  const rules: string[] = [];
  const onEvent = (event: { type: string; issue?: { rule: string } }) => {
    if (event.issue) rules.push(event.issue.rule);
  };
  const message = { role: "assistant", content: "Let me" };
  const { client } = createTestClient(
    () => Response.json({ choices: [{ message, finish_reason: "tool_calls" }] }),
    {
      onEvent,
    },
  );
  expect(await completeChat(client, question)).toMatchObject({ outcome: "complete" });
  expect(rules).toEqual(["chat.stream.calls-missing"]);
});

test("sends the next client each call of a response without ids", async () => {
  const entry = (name: string, text: string) =>
    frame({ tool_calls: [{ index: 0, function: { name, arguments: text } }] });
  const text =
    entry("read", '{"id":1}') +
    entry("read", '{"id":2}') +
    entry("write", "") +
    frame({}, "tool_calls") +
    DONE;
  const { client } = createTestClient(() => streamResponse(text));
  const relay = createTestClient(() => toResponse(streamChat(client, question)));
  expect((await streamChat(relay.client, question).result()).toolCalls).toMatchObject([
    { id: "call-0", name: "read", input: { id: 1 } },
    { id: "call-1", name: "read", input: { id: 2 } },
    { id: "call-2", name: "write", arguments: "" },
  ]);
});

import {
  type ChatDelta,
  type ClientEvent,
  type ClientOptions,
  completeChat,
  isGatewayError,
  type StreamError,
  streamChat,
} from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { createChat } from "../../../stores/test/support/chat.js";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  openBody,
  question,
  settled,
  splitBytes,
  stoppedClock,
  streamResponse,
  trackListeners,
} from "../support/gateway.js";

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const end = frame({}, "stop") + DONE;
const json = (body: unknown) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    headers: { "content-type": "application/json" },
  });

/** A stream of `content`, and the events of its client. */
function startStream(content: Parameters<typeof streamResponse>[0], options: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = [];
  const { client, requests } = createTestClient(() => streamResponse(content), {
    onEvent: (each) => events.push(each),
    ...options,
  });
  const warnings = () =>
    events.flatMap((each) => (each.type === "warning" ? [[each.issue.rule, each.issue.path]] : []));
  return { stream: streamChat(client, question), client, requests, events, warnings };
}

const streamResult = (content: Parameters<typeof streamResponse>[0]) => startStream(content).stream.result();

async function collect(stream: AsyncIterable<ChatDelta>): Promise<ChatDelta[]> {
  const deltas: ChatDelta[] = [];
  for await (const delta of stream) deltas.push(delta);
  return deltas;
}

test("choices whose indexes are texts stay apart", async () => {
  const choice = (index: string, content: string) => event({ choices: [{ index, delta: { content } }] });
  const { stream } = startStream(choice("0", "Red") + choice("1", "Blue") + choice("0", "dish") + end);
  expect(await stream.result()).toMatchObject({
    message: { content: "Reddish" },
    alternatives: [{ message: { content: "Blue" } }],
  });
});

describe("frames that differ in one text only", () => {
  /** A frame with JSON as written by a gateway. */
  const write = (content: string, name: string) =>
    `data: {"name":${name},"choices":[{"index":0,"delta":{"content":${content}},"finish_reason":null}]}\n\n`;

  test("keep their own text, even if it occurs elsewhere in another escape", async () => {
    const frames = [write('"\\u0061"', '"a"'), write('"\\u0061"', '"b"'), write('"\\u0061"', '"c"')];
    const { message } = await startStream(frames.join("").repeat(10) + end).stream.result();
    expect(message.content).toBe("a".repeat(30));
  });

  test("are read with any text: quotes, colons, escapes, the text of another field", async () => {
    const texts = ['"', ":", ",", "\\", "stop", "\n", "a", '","', "é", "assistant", "index", "end"];
    const frames = texts.map((text) => write(JSON.stringify(text), '"a"'));
    const { message } = await startStream(frames.join("").repeat(3) + end).stream.result();
    expect(message.content).toBe(texts.join("").repeat(3));
  });
});

describe("a field of an unexpected type", () => {
  const odd = (delta: object) => event({ choices: [{ index: 0, delta }] });
  test.each<[string, string]>([
    ["choices", event({ choices: {} })],
    ["choices", event({ choices: [null] })],
    ["choices", event({ choices: "x" })],
    ["choices.delta", event({ choices: [{ index: 0, delta: "x" }] })],
    ["choices.delta.content", odd({ content: {} })],
    ["choices.delta.content", odd({ content: 5 })],
    ["choices.delta.content", odd({ content: true })],
    ["choices.delta.content", odd({ content: [null] })],
    ["choices.delta.reasoning_content", odd({ reasoning_content: {} })],
    ["choices.delta.content.thinking", odd({ content: [{ type: "thinking", thinking: {} }] })],
    ["choices.delta.content.thinking", odd({ content: [{ type: "thinking", thinking: [null] }] })],
    ["choices.delta.refusal", odd({ refusal: [] })],
    ["choices.delta.tool_calls", odd({ tool_calls: {} })],
    ["choices.delta.tool_calls", odd({ tool_calls: [null] })],
    ["choices.delta.tool_calls", odd({ tool_calls: "x" })],
    ["choices.delta.tool_calls.function", odd({ tool_calls: [{ index: 0, function: 7 }] })],
    ["choices.finish_reason", event({ choices: [{ index: 0, delta: {}, finish_reason: {} }] })],
    ["usage", event({ choices: [], usage: 7 })],
    ["usage.total_tokens", event({ choices: [], usage: { total_tokens: "5" } })],
  ])("is read as absent with one warning: %s in %s", async (path, one) => {
    const { stream, warnings } = startStream(
      frame({ content: "Hel" }) + one + one + frame({ content: "lo" }) + end,
    );
    const deltas = await collect(stream);
    expect(deltas.map(({ type }) => type)).toEqual(["text-delta", "text-delta", "finish"]);
    expect(await stream.result()).toMatchObject({ outcome: "complete", message: { content: "Hello" } });
    expect(warnings()).toEqual([["chat.stream.unexpected-type", path]]);
  });

  test("has a warning with the id of the call", async () => {
    const { stream, events } = startStream(frame({ content: 5 }) + end);
    await stream.result();
    const [request, warning] = ["request", "warning"].map((type) => events.find((one) => one.type === type));
    expect((warning as { callId?: string }).callId).toBe((request as { callId?: string }).callId);
  });
});

describe("an unreadable part", () => {
  test.each(["null", "[]", "123", '{"choices"'])(
    "data: %s is malformed, with the reason, after the text of the same read",
    async (data) => {
      const { stream } = startStream(`${frame({ content: "Hello" })}data: ${data}\n\n`);
      const seen: ChatDelta[] = [];
      const error = await catchError(
        (async () => {
          for await (const delta of stream) seen.push(delta);
        })(),
      );
      expect(seen).toEqual([{ type: "text-delta", text: "Hello" }]);
      expect(error).toMatchObject({ reason: "malformed", partial: { content: "Hello" } });
      expect((error as Error).message).toContain("not a JSON object");
    },
  );

  test("a line beyond 16 MB is malformed: the text so far stays, and the connection is closed", async () => {
    const connection = openBody();
    const caller = new AbortController();
    const listeners = trackListeners(caller.signal);
    const clock = stoppedClock();
    const events: string[] = [];
    const { client } = createTestClient(() => streamResponse(connection.body), {
      clock,
      onEvent: ({ type }) => events.push(type),
    });
    const error = catchError(streamChat(client, question, { signal: caller.signal }).result());
    connection.send(`${frame({ content: "Hello" })}data: {"x":"`);
    for (let megabyte = 0; megabyte < 16; megabyte += 1) {
      await connection.wanted();
      connection.send("x".repeat(1024 * 1024));
    }
    expect(await error).toMatchObject({
      name: "StreamError",
      reason: "malformed",
      partial: { content: "Hello" },
      message: expect.stringContaining("16777216"),
    });
    await settled();
    expect([connection.cancelled, listeners.size, clock.sleeping()]).toEqual([true, 0, 0]);
    expect(events.filter((type) => type === "end")).toHaveLength(1);
  });

  test("a body beyond 16 MB instead of a stream is malformed, and the connection is closed", async () => {
    const connection = openBody();
    const error = catchError(streamResult(connection.body));
    connection.send('{"x":"');
    for (let megabyte = 0; megabyte < 16; megabyte += 1) {
      await connection.wanted();
      connection.send("x".repeat(1024 * 1024));
    }
    expect(await error).toMatchObject({ name: "StreamError", reason: "malformed" });
    expect(connection.cancelled).toBe(true);
  });
});

describe("a tool call", () => {
  const call = (entry: object) => frame({ tool_calls: [entry] });
  const weather = { type: "function", function: { name: "weather", arguments: "{}" } };
  const streamIds = async (content: string) =>
    (await streamResult(content + end)).toolCalls.map(({ id }) => id);

  test("turns a numeric id into text, and replaces an object by a new id", async () => {
    expect(await streamIds(call({ index: 0, id: 7, ...weather }))).toEqual(["7"]);
    expect(await streamIds(call({ index: 0, id: {}, ...weather }))).toEqual(["call-0"]);
  });

  test.each([
    ["in two deltas", call({ index: 0, id: "a", ...weather }) + call({ index: 1, id: "a", ...weather })],
    ["in one delta without indexes", frame({ tool_calls: [1, 2].map(() => ({ id: "a", ...weather })) })],
  ])("with the id of another call is a separate call: %s", async (_, content) => {
    const ids = await streamIds(content);
    expect([ids[0], ids.length, new Set(ids).size]).toEqual(["a", 2, 2]);
  });

  test("continues if its id and name repeat without an index", async () => {
    const parts = ['{"city"', ':"Oslo"}'].map((text) =>
      call({ id: "a", function: { name: "weather", arguments: text } }),
    );
    expect((await streamResult(parts.join("") + end)).toolCalls).toMatchObject([{ input: { city: "Oslo" } }]);
  });

  test("may come as a function_call", async () => {
    const content =
      frame({ function_call: { name: "weather", arguments: '{"city":' } }) +
      frame({ function_call: { arguments: '"Oslo"}' } }, "function_call") +
      DONE;
    expect(await streamResult(content)).toMatchObject({
      outcome: "tool-calls",
      toolCalls: [{ id: "call-0", name: "weather", input: { city: "Oslo" } }],
    });
  });

  test("is read among 8,000, and earlier snapshots do not change", async () => {
    const { stream } = startStream(
      Array.from({ length: 8000 }, (_, index) => call({ index, id: `c${index}`, ...weather })).join("") + end,
    );
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    const early = stream.snapshot;
    for (let step = await iterator.next(); !step.done; step = await iterator.next());
    expect(early.tool_calls).toHaveLength(1);
    expect(stream.snapshot).toBe(stream.snapshot);
    expect((await stream.result()).toolCalls.at(-1)).toMatchObject({ id: "c7999", input: {} });
  });
});

describe("a response", () => {
  test("has the first id and model that are not empty", async () => {
    const chunk = (id: string, model: string) =>
      event({ id, model, choices: [{ index: 0, delta: { content: "a" } }] });
    const turn = await streamResult(chunk("", "") + chunk("one", "first") + chunk("stub", "other") + DONE);
    expect(turn).toMatchObject({ id: "one", model: "first" });
  });

  test("keeps thinking beside an empty reasoning_content", async () => {
    const { message } = await streamResult(frame({ reasoning_content: "", reasoning: "Hm." }) + end);
    expect(message.reasoning_content).toBe("Hm.");
  });

  test.each([1, "0", "1"])("is its only choice, with the index %j", async (index) => {
    const content = event({ choices: [{ index, delta: { content: "Hi" }, finish_reason: "stop" }] });
    expect(await streamResult(content + DONE)).toMatchObject({
      message: { content: "Hi" },
      finishReason: "stop",
    });
  });

  test.each(["error", "network_error", "server_error"])("has the outcome error after %s", async (reason) => {
    expect(await streamResult(frame({ content: "Hi" }, reason) + DONE)).toMatchObject({ outcome: "error" });
  });

  test("is complete after a finish_reason that is the name of an Object.prototype property", async () => {
    expect((await streamResult(frame({ content: "Hi" }, "constructor") + DONE)).outcome).toBe("complete");
  });

  test("is done for a reader that reads again after the end", async () => {
    const iterator = startStream(frame({ content: "a" }) + frame({ content: "b" })).stream[
      Symbol.asyncIterator
    ]();
    await iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("JSON that breaks off leaves no timer behind", async () => {
    const clock = stoppedClock();
    const connection = openBody();
    const { client } = createTestClient(() => new Response(connection.body), { clock });
    const error = catchError(completeChat(client, question));
    await connection.wanted();
    connection.drop();
    expect(await error).toMatchObject({ name: "ConnectionError", billing: "maybe" });
    await settled();
    expect(clock.sleeping()).toBe(0);
  });
});

describe("a body with status 200 is not a response", () => {
  const bodies: [unknown, string?][] = [
    [{}],
    [{ detail: "Not Found" }, "Not Found"],
    [{ code: 1001, msg: "quota exhausted" }],
    [{ success: false }],
    [{ errors: [{ message: "no such model" }] }],
    [{ status: "maintenance" }],
    [{ choices: [] }],
    [{ choices: [{ index: 0, message: null }] }],
    [{ choices: [{ index: 0 }] }],
  ];
  const callers = [
    [
      "streamChat, whole",
      (body: unknown) => streamChat(createTestClient(() => json(body)).client, question).result(),
    ],
    ["streamChat, as a frame", (body: unknown) => streamResult(event(body) + DONE)],
    ["completeChat", (body: unknown) => completeChat(createTestClient(() => json(body)).client, question)],
  ] as const;

  for (const [name, call] of callers)
    test.each(bodies)(`if it is %j from ${name}`, async (body, words) => {
      const error = await catchError(call(body));
      if (!isGatewayError(error)) throw error;
      expect(["APIError", "ResponseError"]).toContain(error.name);
      if (error.name === "APIError") expect(error.status).toBe(200);
      if (words) expect(error.message).toBe(words);
    });

  test("if it is a frame of another kind before the end, or [DONE] alone", async () => {
    const error = await catchError(streamResult(event({ status: "maintenance" })));
    expect(error).toMatchObject({ name: "APIError", body: '{"status":"maintenance"}' });
    expect(await catchError(streamResult(DONE))).toMatchObject({ name: "APIError", status: 200 });
  });

  test("Usage or a finish_reason alone is an empty response", async () => {
    expect(await streamResult(event({ choices: [], usage }) + DONE)).toMatchObject({
      outcome: "unconfirmed",
      usage,
    });
    expect(await streamResult(event({ choices: [{ finish_reason: "stop" }] }) + DONE)).toMatchObject({
      outcome: "complete",
    });
  });

  test("The error of plain text names the base URL, as with a page", async () => {
    const error = await catchError(streamResult("upstream connect error\n"));
    expect(error).toMatchObject({ name: "APIError", status: 200 });
    expect((error as Error).message).toMatch(/base URL.*upstream connect error/);
  });

  test("A JSON error after a byte order mark is that error, in any cut", async () => {
    const error = { error: { message: "no quota", code: "quota" } };
    for (const text of [JSON.stringify(error), `\n${JSON.stringify(error, null, 2)}`])
      for (const size of [1, 2, 1000])
        expect(await catchError(streamResult(splitBytes(`\uFEFF${text}`, size)))).toMatchObject({
          code: "quota",
        });
  });
});

describe("a finish_reason of tool calls without a call", () => {
  test.each(["tool_calls", "function_call"])("is a response if there is text: %s", async (reason) => {
    const { stream, warnings } = startStream(frame({ content: "Hi" }, reason) + DONE);
    expect(await stream.result()).toMatchObject({ outcome: "complete", finishReason: reason });
    expect(warnings()).toEqual([["chat.stream.calls-missing", "choices.finish_reason"]]);
  });

  test("is an error if there is none", async () => {
    expect((await streamResult(frame({ reasoning_content: "Hm." }, "tool_calls") + DONE)).outcome).toBe(
      "error",
    );
  });

  test.each(["Hi", ""])("is requested once by a chat, with the text %j", async (content) => {
    const { chat, requests } = createChat([frame({ content }, "tool_calls") + DONE]);
    const { outcome } = await chat.send("Hello");
    expect([outcome, requests.length]).toEqual([content ? "complete" : "error", 1]);
  });
});

describe("after the finish_reason", () => {
  function holdStream(options: Partial<ClientOptions> = {}) {
    const clock = stoppedClock();
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body), { clock, ...options });
    return { clock, connection, turn: streamChat(client, question).result() };
  }

  test("an open connection completes the response after two seconds and is closed", async () => {
    const { clock, connection, turn } = holdStream();
    connection.send(frame({ content: "Hello" }) + frame({}, "stop"));
    await connection.wanted();
    await clock.advance(1999);
    expect(connection.cancelled).toBe(false);
    await clock.advance(1);
    expect(await turn).toMatchObject({ outcome: "complete", message: { content: "Hello" } });
    expect([connection.cancelled, clock.sleeping()]).toEqual([true, 0]);
  });

  test("usage is accepted within these seconds, and comments do not extend them", async () => {
    const { clock, connection, turn } = holdStream();
    connection.send(frame({ content: "Hello" }, "stop"));
    await connection.wanted();
    await clock.advance(1500);
    connection.send(`: keep-alive\n\n${event({ choices: [], usage })}`);
    await connection.wanted();
    await clock.advance(500);
    expect(await turn).toMatchObject({ outcome: "complete", usage });
  });

  test("a shorter limit does not fail the response", async () => {
    const { clock, connection, turn } = holdStream({ timeout: { chunkMs: 100 } });
    connection.send(frame({ content: "Hello" }, "stop"));
    await connection.wanted();
    await clock.advance(200);
    expect(await turn).toMatchObject({ outcome: "complete" });
  });
});

test("usage is requested from models that send it only on request, unless the request sets it", async () => {
  const sentBy = async (request: object) => {
    const { client, requests } = createTestClient(() => streamResponse(end));
    await streamChat(client, request as typeof question).result();
    return (await (requests[0] as Request).json()).stream_options;
  };
  const alpha = { ...question, model: "alpha-v4.1-flash" };
  expect(await sentBy(alpha)).toEqual({ include_usage: true });
  expect(await sentBy({ ...alpha, stream_options: {} })).toEqual({ include_usage: true });
  expect(await sentBy({ ...alpha, stream_options: { include_usage: false } })).toEqual({
    include_usage: false,
  });
  expect(await sentBy(question)).toBeUndefined();
  const { chat, requests } = createChat([frame({ content: "Hi" }) + end]);
  await chat.send("Hello");
  expect((await (requests[0] as Request).json()).stream_options).toEqual({ include_usage: true });
});

test("includeUsage of the client requests usage from every model or none, unless the request sets it", async () => {
  const sentBy = async (includeUsage: boolean, request: object, checks = true) => {
    const { client, requests } = createTestClient(() => streamResponse(end), { gateway: { includeUsage } });
    await streamChat(client, request as typeof question, { checks }).result();
    return (await (requests[0] as Request).json()).stream_options;
  };
  for (const { id: model, kind } of Object.values(models)) {
    if (kind !== "chat") continue;
    const request = { ...question, model };
    expect(await sentBy(true, request)).toEqual({ include_usage: true });
    expect(await sentBy(false, request)).toBeUndefined();
    for (const include_usage of [true, false])
      expect(await sentBy(!include_usage, { ...request, stream_options: { include_usage } })).toEqual({
        include_usage,
      });
  }
  expect(await sentBy(true, { ...question, model: "alpha-v5" }, false)).toBeUndefined();
});

test("a failure before anything is sent is not a truncated stream", async () => {
  const { client } = createTestClient(() => streamResponse(end), {
    headers: () => Promise.reject(new Error("session expired")),
  });
  const error = (await catchError(streamChat(client, question).result())) as StreamError;
  expect(error.name).not.toBe("StreamError");
  expect(`${error.message} ${error.cause}`).toContain("session expired");
});

import { type ChatDelta, isGatewayError, StreamError, streamChat, toResponse } from "@sluice/core";
import { describe, expect, test } from "vitest";
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

const greeting =
  frame({ role: "assistant", content: "" }) + frame({ content: "Hel" }) + frame({ content: "lo" });
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const whole = greeting + frame({}, "stop", { usage }) + DONE;

function startStream(content: string) {
  return streamChat(createTestClient(() => streamResponse(content)).client, question);
}

async function collect(stream: AsyncIterable<ChatDelta>): Promise<ChatDelta[]> {
  const deltas: ChatDelta[] = [];
  for await (const delta of stream) deltas.push(delta);
  return deltas;
}

describe("a whole response", () => {
  test("consists of deltas that end with usage and finish", async () => {
    expect(await collect(startStream(whole))).toEqual([
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
      { type: "usage", usage },
      { type: "finish", finishReason: "stop", outcome: "complete" },
    ]);
  });

  test("has the same result() with and without a loop", async () => {
    const alone = await startStream(whole).result();
    const looped = startStream(whole);
    const beside = looped.result();
    await collect(looped);
    for (const turn of [alone, await beside]) {
      expect(turn).toMatchObject({
        message: { role: "assistant", content: "Hello" },
        finishReason: "stop",
        outcome: "complete",
        usage,
        model: "delta-5.3",
        id: "chat-1",
        toolCalls: [],
      });
    }
  });

  test("returns the choices after the first as alternatives", async () => {
    const choice = (index: number, content: string, finish_reason: string | null = null) =>
      frame({}, null, { choices: [{ index, delta: { content }, finish_reason }] });
    const both = choice(0, "Red") + choice(1, "Bl") + choice(1, "ue", "stop") + choice(0, "", "stop") + DONE;
    expect(await startStream(both).result()).toMatchObject({
      message: { content: "Red" },
      alternatives: [{ message: { content: "Blue" }, finishReason: "stop" }],
    });
  });

  test("sorts its alternatives by index, in any order of arrival", async () => {
    const choices = [0, 2, 10, 1].map((index) => ({ index, delta: { content: `nr ${index}` } }));
    const turn = await startStream(frame({}, null, { choices }) + frame({}, "stop") + DONE).result();
    const texts = turn.alternatives?.map(({ message }) => message.content);
    expect(texts).toEqual(["nr 1", "nr 2", "nr 10"]);
  });

  test("has no token rate if it arrived at once", async () => {
    const { client } = createTestClient(() => streamResponse(whole), { clock: stoppedClock() });
    const { timing } = await streamChat(client, question).result();
    expect(timing).toEqual({ firstTokenMs: 0, totalMs: 0 });
  });

  test("has the whole refusal, split over any number of frames", async () => {
    const refused =
      frame({ refusal: "I can't " }) + frame({ refusal: "do that." }) + frame({}, "stop") + DONE;
    expect(await startStream(refused).result()).toMatchObject({
      refusal: "I can't do that.",
      message: { content: "" },
    });
  });

  test("sends `stream` and adds nothing else to the request", async () => {
    const { client, requests } = createTestClient(() => streamResponse(whole));
    await streamChat(client, question, { headers: { "x-trace": "7" } }).result();
    const [request] = requests as [Request];
    expect(request.url).toBe("https://gateway.test/v1/chat/completions");
    expect(await request.json()).toEqual({ ...question, stream: true });
    expect(request.headers.get("content-type")).toBe("application/json");
    expect(request.headers.get("x-trace")).toBe("7");
  });

  test("grows in the snapshot with each delta, and earlier snapshots do not change", async () => {
    const stream = startStream(whole);
    const seen = [stream.snapshot];
    for await (const _ of stream) seen.push(stream.snapshot);
    expect(seen.map(({ content }) => content)).toEqual(["", "Hel", "Hello", "Hello", "Hello"]);
  });

  test("separates thinking from text", async () => {
    const { message } = await startStream(
      frame({ reasoning_content: "Hm." }) + frame({ content: "Yes." }) + frame({}, "stop") + DONE,
    ).result();
    expect(message).toEqual({ role: "assistant", reasoning_content: "Hm.", content: "Yes." });
  });

  test.each([
    ["stop", "complete"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["insufficient_system_resource", "insufficient-resource"],
    ["a word of tomorrow", "complete"],
  ])("has after %s the outcome %s", async (finishReason, outcome) => {
    const turn = await startStream(greeting + frame({}, finishReason) + DONE).result();
    expect(turn).toMatchObject({ finishReason, outcome });
  });

  test("is complete with a finish reason, and unconfirmed with [DONE] alone", async () => {
    expect(await startStream(greeting + frame({}, "stop")).result()).toMatchObject({ outcome: "complete" });
    expect(await startStream(greeting + DONE).result()).toMatchObject({
      finishReason: null,
      outcome: "unconfirmed",
    });
  });

  test("is complete if the connection breaks after its finish reason", async () => {
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body));
    const turn = streamChat(client, question).result();
    connection.send(greeting + frame({}, "stop"));
    await connection.wanted();
    connection.drop();
    expect(await turn).toMatchObject({ outcome: "complete", message: { content: "Hello" } });
  });

  test("ignores a message that repeats it, and everything after [DONE]", async () => {
    const repeated = event({ choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] });
    const turn = await startStream(greeting + repeated + DONE + frame({ content: " again" })).result();
    expect(turn.message.content).toBe("Hello");
  });

  test("is read from the message of the first frame if no frame has a delta", async () => {
    const only = event({ choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] });
    expect((await startStream(only + DONE).result()).message.content).toBe("Hello");
  });

  test("measures the time to the first token and the speed after it", async () => {
    const clock = stoppedClock();
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body), { clock });
    const turn = streamChat(client, question).result();
    await connection.wanted();
    await clock.advance(400);
    connection.send(greeting);
    await connection.wanted();
    await clock.advance(2000);
    connection.send(frame({}, "stop", { usage: { ...usage, completion_tokens: 80 } }) + DONE);
    connection.end();
    expect((await turn).timing).toEqual({ firstTokenMs: 400, totalMs: 2400, tokensPerSecond: 40 });
  });
});

describe("tool calls", () => {
  const call = (entry: object, finish: string | null = null) => frame({ tool_calls: [entry] }, finish);

  test("start, grow and end in parallel, with parsed arguments", async () => {
    const stream = startStream(
      call({ index: 0, id: "a", type: "function", function: { name: "weather", arguments: "" } }) +
        call({ index: 1, id: "b", type: "function", function: { name: "time", arguments: '{"zone"' } }) +
        call({ index: 0, function: { arguments: '{"city":"Oslo"}' } }) +
        call({ index: 1, id: "", function: { name: "", arguments: ':"CET"}' } }) +
        frame({}, "tool_calls") +
        DONE,
    );
    const types = (await collect(stream)).map(({ type }) => type);
    expect(types).toEqual([
      "tool-call-start",
      "tool-call-start",
      "tool-call-delta",
      "tool-call-delta",
      "tool-call-delta",
      "tool-call",
      "tool-call",
      "finish",
    ]);
    const { toolCalls, outcome } = await stream.result();
    expect(outcome).toBe("tool-calls");
    expect(toolCalls).toEqual([
      { id: "a", name: "weather", arguments: '{"city":"Oslo"}', input: { city: "Oslo" } },
      { id: "b", name: "time", arguments: '{"zone":"CET"}', input: { zone: "CET" } },
    ]);
  });

  test.each([
    ["without an index, each with an id of its own", [{ id: "a" }, { id: "b" }]],
    [
      "counted from 1",
      [
        { index: 1, id: "a" },
        { index: 2, id: "b" },
      ],
    ],
    [
      "that share an index but not an id",
      [
        { index: 0, id: "a" },
        { index: 0, id: "b" },
      ],
    ],
  ])("%s are two calls", async (_, identities) => {
    const frames = identities.map((identity) =>
      call({ ...identity, type: "function", function: { name: "weather", arguments: "{}" } }),
    );
    const { toolCalls } = await startStream(frames.join("") + frame({}, "tool_calls") + DONE).result();
    expect(toolCalls.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("keep the text of arguments that are not JSON, and have no input", async () => {
    const cut = call(
      { index: 0, id: "a", function: { name: "weather", arguments: '{"city":"Os' } },
      "length",
    );
    const { toolCalls, outcome } = await startStream(cut + DONE).result();
    expect(outcome).toBe("length");
    expect(toolCalls).toEqual([{ id: "a", name: "weather", arguments: '{"city":"Os', input: undefined }]);
  });
});

describe("a response without an end", () => {
  const endings: [string, string, object][] = [
    ["is cut", greeting, { reason: "truncated" }],
    ["is cut inside a frame", greeting + frame({ content: "!" }).slice(0, 40), { reason: "truncated" }],
    [
      "carries an error frame",
      greeting + event({ error: { message: "out of memory", type: "server_error", code: "oom" } }),
      { reason: "server-error", message: "out of memory", type: "server_error", code: "oom" },
    ],
    [
      "carries an error event",
      `${greeting}event: error\ndata: {"error":{"message":"upstream died"}}\n\n`,
      { reason: "server-error", message: "upstream died" },
    ],
    [
      "carries an error line",
      `${greeting}error: {"message":"failed to decode"}\n\n`,
      { reason: "server-error", message: "failed to decode" },
    ],
    [
      "was cut before the proxy, which says so",
      `${greeting}event: error\ndata: {"error":{"message":"the response broke off","code":"upstream_cut"}}\n\n`,
      { reason: "truncated", code: "upstream_cut" },
    ],
    ["carries a frame that is no JSON", `${greeting}data: {"choices":[{"delta"\n\n`, { reason: "malformed" }],
  ];

  test.each(endings)("is an error with the text so far, because it %s", async (_, content, expected) => {
    const stream = startStream(content);
    const deltas: ChatDelta[] = [];
    const error = await catchError(
      (async () => {
        for await (const delta of stream) deltas.push(delta);
      })(),
    );
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ ...expected, partial: { role: "assistant", content: "Hello" } });
    expect(deltas.some(({ type }) => type === "finish")).toBe(false);
    expect(await catchError(stream.result())).toBe(error);
    expect(stream.snapshot.content).toBe("Hello");
  });

  test("is truncated after a dropped connection, with its error as the cause", async () => {
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body));
    const stream = streamChat(client, question);
    const failure = catchError(stream.result());
    connection.send(greeting);
    await connection.wanted();
    connection.drop();
    const error = await failure;
    expect(error).toMatchObject({ name: "StreamError", reason: "truncated", partial: { content: "Hello" } });
    expect((error as Error).cause).toBeInstanceOf(TypeError);
  });

  test("is truncated after an empty body, and not an empty success", async () => {
    expect(await catchError(startStream("").result())).toMatchObject({
      reason: "truncated",
      partial: { content: "" },
    });
  });
});

describe("a body that is not a stream", () => {
  const createTypedClient = (body: string, type: string) =>
    createTestClient(() => new Response(body, { headers: { "content-type": type } })).client;

  test("is an error that names the base URL for an HTML page with status 200", async () => {
    const client = createTypedClient("<!doctype html><title>Console</title>", "text/html");
    const error = await catchError(streamChat(client, question).result());
    expect(error).toMatchObject({ name: "APIError", status: 200 });
    expect((error as Error).message).toMatch(/200.*Console.*base URL/);
  });

  test("is a JSON error with status 200", async () => {
    const client = createTypedClient('{"error":{"message":"no quota","code":"quota"}}', "application/json");
    expect(await catchError(streamChat(client, question).result())).toMatchObject({
      name: "APIError",
      message: "no quota",
      code: "quota",
    });
  });

  test("is read as a response if it is a whole completion", async () => {
    const completion = {
      id: "c",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage,
    };
    const turn = await streamChat(
      createTypedClient(JSON.stringify(completion), "application/json"),
      question,
    ).result();
    expect(turn).toMatchObject({
      message: { content: "Hi" },
      finishReason: "stop",
      outcome: "complete",
      usage,
    });
  });

  test("is read as a stream, although its type is JSON", async () => {
    const turn = await streamChat(createTypedClient(whole, "application/json"), question).result();
    expect(turn.message.content).toBe("Hello");
  });
});

describe("stopping", () => {
  function openConnection() {
    const connection = openBody();
    const { client, requests } = createTestClient(() => streamResponse(connection.body));
    return { connection, client, requests };
  }

  test("abort() rejects with an AbortError, keeps the snapshot and drops the connection", async () => {
    const { connection, client } = openConnection();
    const stream = streamChat(client, question);
    const iterator = stream[Symbol.asyncIterator]();
    connection.send(greeting);
    await iterator.next();
    stream.abort();
    const error = await catchError(stream.result());
    expect(error).toMatchObject({ name: "AbortError" });
    expect(isGatewayError(error)).toBe(false);
    await settled();
    expect(connection.cancelled).toBe(true);
    // "lo" had come with "Hel" and had not been delivered yet: it is not lost
    expect(stream.snapshot.content).toBe("Hello");
    expect(await catchError(iterator.next() as Promise<unknown>)).toBe(error);
  });

  test("The caller's signal rejects with its reason, before and after the headers", async () => {
    const reason = new Error("the page was closed");
    const before = new AbortController();
    const { client } = createTestClient(() => new Promise<never>(() => {}));
    const pending = catchError(streamChat(client, question, { signal: before.signal }).result());
    before.abort(reason);
    expect(await pending).toBe(reason);

    const after = new AbortController();
    const { connection, client: other } = openConnection();
    const failure = catchError(streamChat(other, question, { signal: after.signal }).result());
    connection.send(greeting);
    await connection.wanted();
    after.abort(reason);
    expect(await failure).toBe(reason);
  });

  test("A signal that has already aborted sends nothing", async () => {
    const { client, requests } = openConnection();
    await catchError(streamChat(client, question, { signal: AbortSignal.abort() }).result());
    expect(requests).toHaveLength(0);
  });

  test("Leaving the loop aborts the request", async () => {
    const { connection, client, requests } = openConnection();
    const stream = streamChat(client, question);
    connection.send(greeting);
    for await (const _ of stream) break;
    await settled();
    expect(connection.cancelled).toBe(true);
    expect(requests[0]?.signal.aborted).toBe(true);
    expect(await catchError(stream.result())).toMatchObject({ name: "AbortError" });
  });

  test("Leaving the loop after the end does not abort", async () => {
    const stream = startStream(whole);
    for await (const { type } of stream) if (type === "finish") break;
    expect(await stream.result()).toMatchObject({ outcome: "complete" });
  });

  test("leaves no listener on a signal that outlives its requests", async () => {
    const { signal } = new AbortController();
    const listeners = trackListeners(signal);
    for (let turn = 0; turn < 3; turn += 1) {
      await streamChat(createTestClient(() => streamResponse(whole)).client, question, { signal }).result();
    }
    expect([...listeners]).toEqual([]);
  });
});

describe("a time limit", () => {
  function startTimedStream(timeout: object) {
    const clock = stoppedClock();
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body), { clock, timeout });
    return { clock, connection, client };
  }

  test("ends a silent stream with the text so far", async () => {
    const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
    const failure = catchError(streamChat(client, question).result());
    connection.send(greeting);
    await connection.wanted();
    await clock.advance(1000);
    expect(await failure).toMatchObject({
      name: "TimeoutError",
      phase: "chunk",
      partial: { content: "Hello" },
    });
    expect(connection.cancelled).toBe(true);
  });

  const call = (fields: object) => frame({ tool_calls: [{ index: 0, ...fields }] });
  test.each([
    ["a comment", ": keep-alive\n\n"],
    ["an empty delta", frame({})],
    ["empty text", frame({ content: "", reasoning_content: "" })],
    ["the role alone", frame({ role: "assistant", content: "" })],
    ["a call's id and name again", call({ id: "a", function: { name: "f", arguments: "" } })],
    ["usage before the end", frame({}, null, { usage })],
  ])("is not reset by %s, and keeps the text so far", async (_, beat) => {
    const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
    const failure = catchError(streamChat(client, question).result());
    connection.send(call({ id: "a", function: { name: "f", arguments: "" } }) + greeting);
    await connection.wanted();
    for (let beats = 0; beats < 3; beats += 1) {
      await clock.advance(300);
      connection.send(beat);
      await connection.wanted();
    }
    expect(connection.cancelled).toBe(false);
    await clock.advance(100);
    expect(await failure).toMatchObject({
      name: "TimeoutError",
      phase: "chunk",
      partial: { content: "Hello" },
    });
    expect(connection.cancelled).toBe(true);
  });

  test.each([
    ["text", () => frame({ content: "!" })],
    ["thinking", () => frame({ reasoning_content: "Hm." })],
    ["a refusal", () => frame({ refusal: "No." })],
    ["a call", (nth: number) => call({ id: `b${nth}`, function: { name: "g", arguments: "" } })],
    ["a part of its arguments", () => call({ id: "a", function: { arguments: "{" } })],
    ["another choice's text", () => event({ choices: [{ index: 1, delta: { content: "Hi" } }] })],
  ])("is reset by %s", async (_, beat) => {
    const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
    const turn = streamChat(client, question).result();
    connection.send(call({ id: "a", function: { name: "f", arguments: "" } }) + greeting);
    for (let beats = 0; beats < 3; beats += 1) {
      await connection.wanted();
      await clock.advance(900);
      connection.send(beat(beats));
    }
    await connection.wanted();
    connection.send(frame({}, "stop") + DONE);
    connection.end();
    expect(await turn).toMatchObject({ finishReason: "stop" });
  });

  test.each([
    ["without headers", false],
    ["with comments only", true],
  ])("for the first content is 5 minutes from sending the request: a response %s", async (_, isOpen) => {
    const clock = stoppedClock();
    const connection = openBody();
    const { client } = createTestClient(
      () => (isOpen ? streamResponse(connection.body) : new Promise<never>(() => {})),
      { clock },
    );
    const failure = catchError(streamChat(client, question).result());
    for (let minute = 0; minute < 4; minute += 1) {
      await clock.advance(60_000);
      connection.send(": thinking\n\n");
    }
    expect(clock.sleeping()).toBeGreaterThan(0);
    await clock.advance(60_000);
    expect(await failure).toMatchObject({ name: "TimeoutError", phase: "first-chunk" });
    expect([connection.cancelled, clock.sleeping()]).toEqual([isOpen, 0]);
  });

  test("firstChunkMs ends a stream that is not read", async () => {
    const { clock, connection, client } = startTimedStream({ firstChunkMs: 1000 });
    const stream = streamChat(client, question);
    connection.send(greeting);
    await clock.advance(1000);
    expect([connection.cancelled, clock.sleeping()]).toEqual([true, 0]);
    expect(await catchError(stream.result())).toMatchObject({ phase: "first-chunk" });
  });

  test("chunkMs does not end a stream whose slow reader reads something in time", async () => {
    const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
    const iterator = streamChat(client, question)[Symbol.asyncIterator]();
    const words = Array.from({ length: 20 }, (_, nth) => `${nth} `);
    connection.send(words.map((content) => frame({ content })).join(""));
    for (const text of words) {
      expect((await iterator.next()).value).toEqual({ type: "text-delta", text });
      await clock.advance(900);
    }
    connection.send(frame({}, "stop") + DONE);
    connection.end();
    expect((await iterator.next()).value).toMatchObject({ type: "finish" });
    expect((await iterator.next()).done).toBe(true);
    await clock.advance(1000);
    expect(clock.sleeping()).toBe(0);
  });

  test("chunkMs closes the connection of a stream that is abandoned after one read", async () => {
    const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
    const stream = streamChat(client, question);
    const iterator = stream[Symbol.asyncIterator]();
    connection.send(greeting);
    await iterator.next();
    await clock.advance(999);
    expect(connection.cancelled).toBe(false);
    await clock.advance(1);
    expect([connection.cancelled, clock.sleeping()]).toEqual([true, 0]);
    expect((await iterator.next()).value).toEqual({ type: "text-delta", text: "lo" });
    const error = await catchError(iterator.next());
    expect(error).toMatchObject({ name: "TimeoutError", phase: "chunk", partial: { content: "Hello" } });
    expect(await catchError(stream.result())).toBe(error);
  });

  test("chunkMs closes a text stream and a response whose reader stalls, and not those of a result()", async () => {
    for (const how of ["text", "response", "response and result"]) {
      const { clock, connection, client } = startTimedStream({ chunkMs: 1000 });
      const stream = streamChat(client, question);
      connection.send(greeting);
      const body = how === "text" ? stream.textStream : (await toResponse(stream)).body;
      const reader = (body as ReadableStream<unknown>).getReader();
      await reader.read();
      const result = how.endsWith("result") ? stream.result() : undefined;
      await clock.advance(900);
      if (result) connection.send(frame({ content: "!" }));
      await clock.advance(900);
      expect(connection.cancelled).toBe(!result);
      if (!result) continue;
      connection.send(frame({}, "stop") + DONE);
      expect((await result).message.content).toBe("Hello!");
    }
  });

  test("chunkMs leaves no trace of 200 streams that are abandoned after one read", async () => {
    const clock = stoppedClock();
    const { client } = createTestClient(
      () =>
        streamResponse(new ReadableStream({ pull: (c) => c.enqueue(new TextEncoder().encode(greeting)) })),
      { clock },
    );
    const { signal } = new AbortController();
    const listeners = trackListeners(signal);
    for (let nth = 0; nth < 200; nth += 1)
      await streamChat(client, question, { signal })[Symbol.asyncIterator]().next();
    await clock.advance(60_000);
    expect([clock.sleeping(), listeners.size]).toEqual([0, 0]);
  });

  test("has its own phase for the headers and for the whole request", async () => {
    const silent = createTestClient(() => new Promise<never>(() => {}), { clock: stoppedClock() });
    const clock = silent.client.clock as ReturnType<typeof stoppedClock>;
    const headers = catchError(
      streamChat(silent.client, question, { timeout: { firstChunkMs: 500 } }).result(),
    );
    await clock.advance(500);
    expect(await headers).toMatchObject({ name: "TimeoutError", phase: "first-chunk" });

    const { clock: other, connection, client } = startTimedStream({ totalMs: 3000 });
    const total = catchError(streamChat(client, question).result());
    connection.send(greeting);
    await connection.wanted();
    await other.advance(3000);
    expect(await total).toMatchObject({ phase: "total", partial: { content: "Hello" } });
  });
});

describe("reading", () => {
  test("reads nothing from the network before the first read", async () => {
    let given = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          given += 1;
          controller.enqueue(splitBytes(frame({ content: "." }), 10_000)[0] as Uint8Array);
        },
      },
      { highWaterMark: 0 },
    );
    const iterator = streamChat(createTestClient(() => streamResponse(body)).client, question)[
      Symbol.asyncIterator
    ]();
    await settled();
    expect(given).toBe(0);
    await iterator.next();
    await iterator.next();
    await settled();
    expect(given).toBe(2);
    await iterator.return?.();
  });

  test("returns each delta once if next() is called without waiting", async () => {
    const iterator = startStream(whole)[Symbol.asyncIterator]();
    const steps = await Promise.all(Array.from({ length: 6 }, () => iterator.next()));
    expect(steps.map(({ value }) => value?.type)).toEqual([
      "text-delta",
      "text-delta",
      "usage",
      "finish",
      undefined,
      undefined,
    ]);
  });

  test("allows one reader: a second one gets an error", async () => {
    const stream = startStream(whole);
    await collect(stream);
    expect(() => stream[Symbol.asyncIterator]()).toThrow(/already read/);
  });

  test("gives the text as a text stream", async () => {
    let text = "";
    const reader = startStream(whole).textStream.getReader();
    for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value;
    expect(text).toBe("Hello");
  });

  test("gives the text to a loop, which aborts the request when it is left", async () => {
    let text = "";
    for await (const piece of startStream(whole).textStream) text += piece;
    expect(text).toBe("Hello");
    const { client } = createTestClient(() => streamResponse(greeting));
    const left = streamChat(client, question);
    for await (const piece of left.textStream) {
      expect(piece).toBe("Hel");
      break;
    }
    expect(await catchError(left.result())).toMatchObject({ name: "AbortError" });
    const unread = streamChat(client, question);
    await unread.textStream.cancel();
    expect(await catchError(unread.result())).toMatchObject({ name: "AbortError" });
  });

  test("leaves the deltas to a loop if the text stream is not read", async () => {
    const stream = startStream(whole);
    expect(stream.textStream).toBe(stream.textStream);
    expect(await collect(stream)).toHaveLength(4);
  });
});

describe("toResponse()", () => {
  test("returns a refusal of the gateway with its status, and rejects if the client fails", async () => {
    const refused = createTestClient(() => Response.json({ error: { message: "no" } }, { status: 403 }));
    expect((await toResponse(streamChat(refused.client, question))).status).toBe(403);
    const invalid = { ...question, messages: [] };
    expect((await toResponse(streamChat(refused.client, invalid))).status).toBe(400);
    const own = createTestClient(() => streamResponse(whole), {
      headers: () => {
        throw new Error("signed out");
      },
    });
    await expect(toResponse(streamChat(own.client, question))).rejects.toThrow("signed out");
  });

  test("returns the headers of a stream, and the caller's own headers", async () => {
    const plain = await toResponse(startStream(whole));
    expect(Object.fromEntries(plain.headers)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    const own = { status: 201, headers: { "cache-control": "private", "x-mine": "1" } };
    const { status, headers, body } = await toResponse(startStream(whole), own);
    expect(status).toBe(201);
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "private",
      "x-mine": "1",
    });
    await Promise.all([plain.body?.cancel(), body?.cancel()]);
  });

  test("returns a stream with everything that the response contains, and the role once", async () => {
    const call = (fields: object) => frame({ tool_calls: [{ index: 0, ...fields }] });
    const content =
      frame({ reasoning_content: "Hm." }) +
      frame({ content: "Hi" }) +
      call({ id: "a", type: "function", function: { name: "f", arguments: "" } }) +
      call({ function: { arguments: "{}" } }) +
      frame({}, "tool_calls", { usage }) +
      DONE;
    const text = await (await toResponse(startStream(content))).text();
    const events = text.split("\n\n").map((part) => part.replace("data: ", ""));
    expect(events.slice(-2)).toEqual(["[DONE]", ""]);
    const chunk = {
      id: "chat-1",
      object: "chat.completion.chunk",
      created: 1_755_000_000,
      model: "delta-5.3",
    };
    const choice = (delta: object, finish_reason: string | null = null) => ({
      ...chunk,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const made = (fields: object) => choice({ tool_calls: [{ index: 0, ...fields }] });
    expect(events.slice(0, -2).map((data) => JSON.parse(data))).toEqual([
      choice({ role: "assistant", reasoning_content: "Hm." }),
      choice({ content: "Hi" }),
      made({ id: "a", type: "function", function: { name: "f", arguments: "" } }),
      made({ function: { arguments: "{}" } }),
      { ...chunk, choices: [], usage },
      choice({}, "tool_calls"),
    ]);
  });

  test.each([
    [{ status: 429, headers: { "retry-after": "1.5", "x-request-id": "r-1" } }, 429, "2", "r-1"],
    [{ status: 307 }, 502, null, null],
  ])("returns the failed response %j as %i with its wait and its id", async (init, status, wait, id) => {
    const refusal = () =>
      Response.json({ error: { message: "no", type: "t", code: "c", param: "p" } }, { ...init });
    const { client } = createTestClient(refusal, { retry: { limit: 0 } });
    const response = await toResponse(streamChat(client, question));
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe(wait);
    expect(response.headers.get("x-request-id")).toBe(id);
    expect(response.headers.get("content-type")).toBe("application/json");
    if (status === 429)
      expect(await response.json()).toEqual({ error: { message: "no", type: "t", code: "c", param: "p" } });
  });

  test("returns the same response for the next client, and a truncated one stays truncated", async () => {
    const relayed = (content: string) => createTestClient(() => toResponse(startStream(content))).client;
    const tools =
      frame({ reasoning_content: "Hm." }) +
      frame({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] });
    for (const content of [whole, `${tools}${frame({}, "tool_calls", { usage })}${DONE}`]) {
      const direct = await startStream(content).result();
      const again = await streamChat(relayed(content), question).result();
      for (const field of [
        "message",
        "toolCalls",
        "finishReason",
        "outcome",
        "usage",
        "model",
        "id",
      ] as const)
        expect(again[field]).toEqual(direct[field]);
    }
    const error = await catchError(streamChat(relayed(greeting), question).result());
    expect(error).toMatchObject({ reason: "truncated", partial: { content: "Hello" } });
  });
});

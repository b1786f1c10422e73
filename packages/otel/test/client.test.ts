import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  type ChatStream,
  completeChat,
  createClient,
  createVideoTask,
  defineTool,
  generateImages,
  streamChat,
  watchVideoTask,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createTelemetry } from "@sluice/otel";
import { createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { openSDK, openTraced } from "./support.js";

const createRequest = (content: string) =>
  ({ model: "alpha-v4.1-flash", messages: [{ role: "user", content }] }) as const;
const catchError = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the span of a call", () => {
  test("describes a streamed message by the conventions: model, id, reason, tokens, first chunk", async () => {
    const { client, spans, emulator } = openTraced();
    const { usage, id, model } = await streamChat(client, createRequest("Hello")).result();
    const [span] = spans();
    expect(spans()).toHaveLength(1);
    expect(span).toMatchObject({
      name: "chat alpha-v4.1-flash",
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      parentId: undefined,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "sluice",
        "gen_ai.request.model": "alpha-v4.1-flash",
        "gen_ai.request.stream": true,
        "gen_ai.response.id": id,
        "gen_ai.response.model": model,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.time_to_first_chunk": expect.any(Number),
        "gen_ai.usage.input_tokens": usage?.prompt_tokens,
        "gen_ai.usage.output_tokens": usage?.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage?.prompt_cache_hit_tokens,
        "http.response.status_code": 200,
        "server.address": "gateway.test",
        "server.port": 443,
        "url.path": "/v1/chat/completions",
        "sluice.outcome": "complete",
      },
    });
    // the gateway got the same trace
    const sent = emulator.requests[0]?.headers["traceparent"];
    expect(sent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  });

  test("is a child of the span that is active when the call is made", async () => {
    const { client, spans, tracerProvider } = openTraced();
    const parent = tracerProvider.getTracer("app").startSpan("route");
    await context.with(trace.setSpan(context.active(), parent), () =>
      completeChat(client, createRequest("Hello")),
    );
    parent.end();
    const [span] = spans();
    expect(span).toMatchObject({
      parentId: parent.spanContext().spanId,
      traceId: parent.spanContext().traceId,
    });
    expect(span?.attributes).not.toHaveProperty("gen_ai.request.stream");
  });

  test("has an event for each retry, and one traceparent for all attempts", async () => {
    const { client, spans, emulator } = openTraced();
    await completeChat(client, createRequest("Hello [[500:2]]"));
    const [span] = spans();
    expect(span?.events.map(({ name, attributes }) => [name, attributes?.["error.type"]])).toEqual([
      ["sluice.retry", "500"],
      ["sluice.retry", "500"],
    ]);
    expect(span?.events[0]?.attributes).toMatchObject({
      "sluice.attempt": 1,
      "sluice.delay_ms": expect.any(Number),
    });
    expect(span?.attributes["http.request.resend_count"]).toBe(2);
    expect(new Set(emulator.requests.map(({ headers }) => headers["traceparent"])).size).toBe(1);
    expect(emulator.requests).toHaveLength(3);
  });

  test.each([
    ["[[429]]", "429"],
    ["[[drop]]", "StreamError"],
    ["[[error-frame]]", "StreamError"],
  ])("is an error after %s, with its class and without its message", async (fault, errorType) => {
    const { client, spans } = openTraced({ retry: { limit: 0 } });
    const error = await catchError(streamChat(client, createRequest(`Hello ${fault}`)).result());
    expect(error).toBeInstanceOf(Error);
    const [span] = spans();
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span?.attributes["error.type"]).toBe(errorType);
  });

  test("exists for a request that breaks a rule and is never sent, with its length", async () => {
    const { client, spans, emulator } = openTraced();
    await catchError(completeChat(client, { ...createRequest("Hello"), max_tokens: 0 } as never));
    expect(spans()).toMatchObject([
      {
        name: "chat alpha-v4.1-flash",
        attributes: { "error.type": "ValidationError", "sluice.outcome": "not-sent" },
      },
    ]);
    expect(emulator.requests).toHaveLength(0);
  });

  test.each([
    ["leaving the loop", () => true],
    ["abort()", (stream: ChatStream) => stream.abort()],
    ["a signal", (_: ChatStream, caller: AbortController) => caller.abort()],
  ])("ends once, and is no error, if the caller stops it by %s", async (_, stop) => {
    const { client, spans } = openTraced();
    const caller = new AbortController();
    const stream = streamChat(client, createRequest("Hello [[stall]]"), { signal: caller.signal });
    const read = async () => {
      for await (const delta of stream) if (delta.type === "text-delta" && stop(stream, caller)) break;
    };
    await read().catch(() => {});
    const [span, other] = spans();
    expect(other).toBeUndefined();
    expect(span).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { "sluice.outcome": "stopped" },
    });
    expect(span?.attributes).not.toHaveProperty("error.type");
  });

  test("distinguishes generation from polling", async () => {
    const { client, spans } = openTraced({}, {}, createEmulator({ speed: 1000 }));
    await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" });
    const task = await createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } });
    await watchVideoTask(client, task, { intervalMs: 1000 }).result();
    const [image, video, ...polls] = spans();
    expect([image?.name, video?.name]).toEqual([
      "generate_content gamma-image-5-0-260128",
      "generate_content beta3.0-video",
    ]);
    expect(image?.attributes["sluice.generated_images"]).toBe(1);
    expect(polls.length).toBeGreaterThan(0);
    expect(new Set(polls.map(({ attributes }) => attributes["gen_ai.operation.name"]))).toEqual(
      new Set(["get_task"]),
    );
  });
});

describe("the tools of a chat", () => {
  const script = {
    replies: [
      { prompt: "weather", toolCalls: [{ name: "weather", arguments: { city: "Rome" } }] },
      { tool: "weather", content: "Warm." },
    ],
  };
  const parameters = { type: "object", properties: { city: { type: "string" } } };

  test("have execute_tool spans below the call that requested them, in one conversation", async () => {
    const { client, spans, points } = openTraced({}, {}, createEmulator({ speed: Infinity, script }));
    const weather = defineTool({
      name: "weather",
      inputSchema: parameters,
      execute: () => ({ celsius: 21 }),
    });
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", id: "trip", tools: [weather] });
    await chat.send("How is the weather?");
    const [first, tool, second] = spans();
    expect(first?.attributes["gen_ai.response.finish_reasons"]).toEqual(["tool_calls"]);
    expect(tool).toMatchObject({
      name: "execute_tool weather",
      kind: SpanKind.INTERNAL,
      parentId: first?.spanId,
      traceId: first?.traceId,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": chat.getSnapshot().messages[1]?.toolCalls?.[0]?.id,
        "sluice.outcome": "done",
      },
    });
    expect(spans().map(({ attributes }) => attributes["gen_ai.conversation.id"])).toEqual(
      Array(3).fill("trip"),
    );
    expect(second?.attributes["sluice.outcome"]).toBe("complete");
    expect(await points()).toContainEqual(
      expect.objectContaining({ name: "gen_ai.execute_tool.duration", unit: "s", count: 1 }),
    );
  });

  test("are errors with the class of what they throw, without its message", async () => {
    const { client, spans } = openTraced({}, {}, createEmulator({ speed: Infinity, script }));
    const weather = defineTool({
      name: "weather",
      inputSchema: parameters,
      execute: () => {
        throw new TypeError("no such city");
      },
    });
    await createChatStore(client, { model: "alpha-v4.1-flash", tools: [weather] }).send("weather?");
    expect(spans()[1]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "TypeError", "sluice.outcome": "failed" },
    });
    expect(spans()[1]?.status.message).toBeUndefined();
  });
});

describe("the metrics", () => {
  test("have the duration, the first chunk and the tokens of each operation, by model and outcome", async () => {
    const { client, points } = openTraced({ retry: { limit: 0 } }, { provider: "acme" });
    const { usage } = await streamChat(client, createRequest("Hello")).result();
    await completeChat(client, createRequest("Hello"));
    await catchError(completeChat(client, createRequest("Hello [[500]]")));
    const all = await points();
    const base = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "acme",
      "gen_ai.request.model": "alpha-v4.1-flash",
      "server.address": "gateway.test",
      "server.port": 443,
    };
    const listPoints = (name: string) => all.filter((point) => point.name === name);
    expect(listPoints("gen_ai.client.inference.duration")).toMatchObject([
      { unit: "s", count: 2, attributes: { ...base, "gen_ai.response.model": "alpha-v4.1-flash" } },
      { count: 1, attributes: { ...base, "error.type": "500" } },
    ]);
    expect(listPoints("gen_ai.client.inference.time_to_first_chunk")).toMatchObject([
      { unit: "s", count: 1, attributes: base },
    ]);
    const sum = 2 * (usage?.prompt_tokens ?? 0);
    expect(listPoints("gen_ai.client.inference.operation.input_tokens")).toMatchObject([
      { unit: "{token}", count: 2, sum, attributes: base },
    ]);
    expect(listPoints("gen_ai.client.inference.usage.input_tokens")).toMatchObject([
      { unit: "{token}", sum, attributes: { ...base, "gen_ai.token.modality": "unknown" } },
    ]);
    expect(listPoints("gen_ai.client.inference.usage.output_tokens")).toMatchObject([
      { unit: "{token}", attributes: { ...base, "gen_ai.token.modality": "text" } },
    ]);
    // polls and uploads are no inference
    expect(listPoints("gen_ai.client.operation.duration")).toEqual([]);
  });
});

describe("no export", () => {
  test("contains a prompt, a message, arguments, an output, a key, or the text of an error", async () => {
    const canary = "canary-77d1";
    const key = `sk-${canary}-0123456789`;
    const script = {
      replies: [
        {
          prompt: "tool please",
          toolCalls: [{ name: "note", arguments: { text: canary } }],
          reasoning: canary,
        },
        { tool: "note", content: canary },
      ],
    };
    const emulator = createEmulator({ speed: Infinity, script });
    const { client, all, spans } = openTraced(
      { retry: { limit: 1 }, apiKey: key, fetch: fetchQuoting },
      {},
      emulator,
    );
    const note = defineTool({
      name: "note",
      inputSchema: { type: "object" },
      execute: ({ text }: { text: string }) => {
        throw Object.assign(new Error(`no room for ${text}`), { name: `${text} error` });
      },
    } as never);
    const chat = createChatStore(client, {
      model: "alpha-v4.1-flash",
      instructions: canary,
      tools: [note],
      headers: { "x-note": canary },
    });
    await chat.send(`tool please, ${canary}`);
    await chat.send(`${canary} refuse this`);
    await catchError(completeChat(client, createRequest(`${canary} refuse this`)));
    await catchError(streamChat(client, createRequest(`${canary} [[error-frame]]`)).result());
    await catchError(completeChat(client, { ...createRequest(canary), [canary]: canary }, { checks: false }));
    await generateImages(client, { model: "gamma-image-5-0-260128", prompt: canary, size: "2048x2048" });
    expect(spans().length).toBeGreaterThan(6);
    expect(await all()).not.toContain(canary);

    /** Refuses some requests with an error that quotes the prompt, as a gateway's moderation may do. */
    async function fetchQuoting(request: Request): Promise<Response> {
      const text = await request.clone().text();
      if (!text.includes("refuse this")) return emulator.fetch(request);
      const error = { message: `not allowed: ${canary} ${key}`, code: `moderated ${canary}`, type: canary };
      return Response.json({ error }, { status: 400 });
    }
  });
});

describe("spans that never end", () => {
  test("are limited to `maxOpenSpans`: another span ends the oldest as abandoned", async () => {
    const { client, spans } = openTraced({}, { maxOpenSpans: 3 });
    const streams = Array.from({ length: 5 }, () => streamChat(client, createRequest("Hello [[stall]]")));
    // the streams are not read to their end
    await Promise.all(streams.map((stream) => stream[Symbol.asyncIterator]().next()));
    expect(spans().map(({ attributes }) => attributes["sluice.outcome"])).toEqual(["abandoned", "abandoned"]);
    for (const stream of streams) stream.abort();
    await Promise.all(streams.map((stream) => catchError(stream.result())));
    // an abandoned span does not end twice
    expect(spans()).toHaveLength(5);
  });

  test("are limited even if the app forgets `onEvent`", () => {
    const { tracerProvider, spans } = openSDK();
    const { headers } = createTelemetry({ tracerProvider, maxOpenSpans: 1 });
    const call = { kind: "chat", path: "/v1/chat/completions" } as const;
    for (const callId of ["a", "b", "c"]) headers({ ...call, callId });
    expect(spans().map(({ attributes }) => attributes["sluice.outcome"])).toEqual(["abandoned", "abandoned"]);
  });
});

test("two tool calls with one id have separate spans, and a tool call without a begin has a span", () => {
  const { tracerProvider, meterProvider, spans } = openSDK();
  const { onEvent } = createTelemetry({ tracerProvider, meterProvider });
  const run = { name: "weather", toolCallId: "a", messageId: "m" };
  const start = { type: "tool-start", ...run } as const;
  const end = { type: "tool-end", ...run, durationMs: 5000, state: "done" } as const;
  for (const event of [start, start, end, end, { ...end, toolCallId: "b" }]) onEvent(event);
  expect(spans().map(({ name }) => name)).toEqual(Array(3).fill("execute_tool weather"));
  expect(spans()[2]?.ms).toBeGreaterThanOrEqual(4999);
});

test.each([0, -1, Number.NaN])(
  "maxOpenSpans %s is refused: nothing would bound the spans",
  (maxOpenSpans) => {
    expect(() => createTelemetry({ maxOpenSpans })).toThrow(/maxOpenSpans/);
  },
);

describe("the options of a client", () => {
  test("serve several clients, and spread into `createClient`", async () => {
    const { client, spans, telemetry, emulator } = openTraced();
    const other = createClient({ ...emulator.clientOptions, ...telemetry });
    await Promise.all([
      completeChat(client, createRequest("Hello")),
      completeChat(other, createRequest("Hello")),
    ]);
    expect(spans()).toHaveLength(2);
  });

  test("let a request outside of calls join the active trace", async () => {
    const { telemetry, tracerProvider } = openTraced();
    const span = tracerProvider.getTracer("app").startSpan("page");
    const headers = context.with(trace.setSpan(context.active(), span), () =>
      telemetry.headers({ path: "/v1/push" }),
    );
    expect(headers["traceparent"]).toContain(span.spanContext().traceId);
    expect(telemetry.headers({ path: "/v1/push" })).toEqual({});
  });

  test("do not affect a client without an SDK: its calls work, and no header is sent", async () => {
    const emulator = createEmulator({ speed: Infinity });
    const client = createClient({ ...emulator.clientOptions, ...createTelemetry() });
    await completeChat(client, createRequest("Hello"));
    expect(emulator.requests[0]?.headers).not.toHaveProperty("traceparent");
  });
});

import { completeChat, isGatewayError, StreamError, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  openBody,
  question,
  splitBytes,
  streamResponse,
} from "./support/gateway.js";

/* An error may come in any form under status 200. Each form ends the call as an error with the gateway's words. */

const WORDS = "the model is overloaded";
const chunk = (fields: object) => event({ id: "chat-1", object: "chat.completion.chunk", ...fields });
const choice = (fields: object) =>
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: null, ...fields }] });
const error = { message: WORDS, type: "server_error", code: 503 };

/** Forms of an error, as they stand in a stream. */
const dresses: readonly (readonly [name: string, text: string])[] = [
  ["a frame with an error", event({ error })],
  ["a frame with an error that is text", event({ error: WORDS })],
  ["a frame with an error without a code", event({ error: { message: WORDS } })],
  ["a frame with an error in an error", event({ error: { error: { message: WORDS } } })],
  ["a frame with an error of other fields", event({ error: { reason: WORDS } })],
  ["a frame with an error beside choices", chunk({ choices: [], error })],
  [
    "a frame with an error beside empty content",
    choice({ delta: { content: "" } }).replace("}\n", `,"error":${JSON.stringify(error)}}\n`),
  ],
  ["a list of errors", event({ errors: [{ message: WORDS }] })],
  ["a list of errors beside choices", chunk({ choices: [], errors: [{ message: WORDS }] })],
  ["an array with an error", event([{ error }])],
  ["an error of an extension", chunk({ choices: [], x_groq: { id: "req_1", error: WORDS } })],
  ["an error of an extension, as an object", chunk({ choices: [], x_groq: { error } })],
  ["an error in a choice", choice({ error })],
  ["an error in a delta", choice({ delta: { error: WORDS } })],
  ["an error in a choice that it finishes", choice({ finish_reason: "error", error })],
  ["a flat error", event({ object: "error", message: WORDS, code: 40_003 })],
  ["a flat error beside choices", event({ object: "error", message: WORDS, choices: [] })],
  ["a code and a message", event({ code: "overloaded", message: WORDS, type: "server_error" })],
  ["a code and a message beside null choices", event({ code: 503, message: WORDS, choices: null })],
  ["a detail", event({ detail: WORDS })],
  ["an event", `event: error\n${event({ error })}`],
  ["an event of flat JSON", `event: error\n${event({ message: WORDS })}`],
  ["an event of text", `event: error\ndata: ${WORDS}\n\n`],
  ["an event of a longer name", `event: stream.error\n${event({ info: WORDS })}`],
  ["a line of JSON", `error: ${JSON.stringify({ message: WORDS })}\n\n`],
  ["a line of text", `error: ${WORDS}\n\n`],
  ["a line of text in capitals", `ERROR: ${WORDS}\n\n`],
  ["a line of JSON that is broken", `error: {"message":"${WORDS}\n\n`],
  ["a bare line", `${JSON.stringify({ error })}\n\n`],
  ["a bare line without a blank line", `${JSON.stringify({ error: WORDS })}\n`],
  ["a bare line of flat JSON", `${JSON.stringify({ code: 503, message: WORDS })}\n\n`],
  ["bare JSON on several lines", `${JSON.stringify({ error }, null, 2)}\n\n`],
  ["a bare array on several lines", `${JSON.stringify([{ error }], null, 2)}\n\n`],
  ["a bare line that is broken", `{"error":{"message":"${WORDS}\n\n`],
  [
    "a line that broke off, and its words behind a frame",
    `{"error":\ndata: x\n\n${JSON.stringify({ error })}\n\n`,
  ],
  ["a frame that is broken", `data: {"error":{"message":"${WORDS}\n\n`],
  ["a frame of a Python object", `data: {'error': {'message': '${WORDS}', 'code': None}}\n\n`],
  ["a frame of text", `data: ${WORDS}\n\n`],
  ["a frame of two JSON objects", `data: {"error":{"message":"${WORDS}"}}{"done":true}\n\n`],
  ["a frame with a space before its name", ` data: ${JSON.stringify({ error })}\n\n`],
  ["a page", `<!doctype html>\n<html><head><title>${WORDS}</title></head>\n<body>502</body></html>\n\n`],
];

const content: readonly (readonly [name: string, before: string, partial: object])[] = [
  ["text", frame({ role: "assistant", content: "Hello" }), { content: "Hello" }],
  ["thinking", frame({ reasoning_content: "Hm." }), { reasoning_content: "Hm." }],
  [
    "a tool call",
    frame({ tool_calls: [{ index: 0, id: "a", function: { name: "pay", arguments: '{"to":"x"}' } }] }),
    { tool_calls: [{ id: "a", function: { name: "pay", arguments: '{"to":"x"}' } }] },
  ],
];
const behind: readonly (readonly [name: string, text: string])[] = [
  ["[DONE]", DONE],
  ["nothing", ""],
  ["the rest of the stream", frame({ content: " again" }) + frame({}, "stop") + DONE],
  ["the rest of a call", frame({}, "tool_calls") + DONE],
];

const streamed = (pieces: readonly Uint8Array[] | string) =>
  streamChat(createTestClient(() => streamResponse(pieces)).client, question);

describe.each(dresses)("%s", (_, text) => {
  for (const [name, before, partial] of content)
    test.each(behind)(
      `behind ${name} ends the stream as an error with its words, and %s follows`,
      async (_, after) => {
        const failure = await catchError(streamed(before + text + after).result());
        expect(failure).toBeInstanceOf(StreamError);
        expect((failure as Error).message).toContain(WORDS);
        expect((failure as StreamError).partial).toMatchObject({ role: "assistant", ...partial });
        expect((failure as StreamError).reason).not.toBe("truncated");
      },
    );

  test.each(behind)("ends the stream as an error with its message, and %s follows", async (_, after) => {
    for (const start of ["", ": comment\n\n", frame({ role: "assistant" })]) {
      const failure = await catchError(streamed(start + text + after).result());
      if (!isGatewayError(failure)) throw failure;
      expect(failure.message).toContain(WORDS);
      expect(["APIError", "StreamError"]).toContain(failure.name);
    }
  });

  test("is the same error with any split", async () => {
    const [, before] = content[0] as (typeof content)[number];
    for (const size of [1, 7]) {
      const failure = await catchError(streamed(splitBytes(before + text + DONE, size)).result());
      expect((failure as Error).message).toContain(WORDS);
    }
  });
});

const held = [
  "a bare line",
  "a line of text",
  "a page",
  "bare JSON on several lines",
  "an error of an extension",
];

test.each(held)("%s ends the stream at once, even if the connection stays open", async (name) => {
  const [, text = ""] = dresses.find(([dress]) => dress === name) ?? [];
  for (const before of [frame({ content: "Hello" }), ": comment\n\n"]) {
    const connection = openBody();
    const { client } = createTestClient(() => new Response(connection.body));
    const failure = catchError(streamChat(client, question).result());
    await connection.wanted();
    connection.send(before + text);
    expect(((await failure) as Error).message).toContain(WORDS);
    expect(connection.cancelled).toBe(true);
  }
});

test("A bare error before any event ends the call at once, even if a stream follows", async () => {
  const connection = openBody();
  const { client } = createTestClient(() => new Response(connection.body));
  const failure = catchError(streamChat(client, question).result());
  await connection.wanted();
  connection.send(`${JSON.stringify({ error })}\n\n${frame({ content: "Hello" })}`);
  expect(await failure).toMatchObject({ name: "APIError", message: WORDS, code: "503" });
});

test("The last text in an error frame stays in the partial message", async () => {
  const text =
    frame({ content: "Hello" }) + choice({ delta: { content: " you" }, finish_reason: "error", error });
  expect(await catchError(streamed(text + DONE).result())).toMatchObject({
    name: "StreamError",
    reason: "server-error",
    message: WORDS,
    code: "503",
    partial: { content: "Hello you" },
  });
});

const completion = (fields: object) => ({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "Half" }, finish_reason: "stop", ...fields }],
});

test.each([
  ["beside the choices", { ...completion({}), error }],
  ["in a choice", completion({ finish_reason: "error", error })],
  ["in an extension", { ...completion({}), x_groq: { error: WORDS } }],
])("A whole completion with an error %s is an error with its words", async (_, body) => {
  const { client } = createTestClient(() => Response.json(body));
  expect(await catchError(completeChat(client, question))).toMatchObject({
    name: "APIError",
    message: WORDS,
  });
  expect(await catchError(streamChat(client, question).result())).toMatchObject({
    name: "StreamError",
    message: WORDS,
    partial: { content: "Half" },
  });
});

test.each([
  ["null", { error: null, errors: null }],
  ["an empty list", { errors: [] }],
  ["an empty text", { error: "" }],
  ["an object that says nothing", { error: { code: 0, message: "", details: [] } }],
  ["false", { error: false }],
])("An error field of %s in each frame is no error", async (_, fields) => {
  const rest = { ...fields, x_groq: { id: "r", ...fields }, message: "ok", detail: null };
  const inChoice = event({
    choices: [{ index: 0, delta: { content: "b", ...fields }, finish_reason: null, ...fields }],
  });
  const text = frame({ content: "a" }, null, rest) + inChoice + frame({}, "stop", rest);
  const turn = await streamed(text + DONE).result();
  expect(turn).toMatchObject({ outcome: "complete", message: { content: "ab" } });
  const { client } = createTestClient(() => Response.json({ ...completion(fields), ...fields }));
  expect(await completeChat(client, question)).toMatchObject({ outcome: "complete" });
});

test("An error is found in a frame that differs from earlier frames in one text", async () => {
  const alike = (message: string) => choice({ delta: { content: "a" }, error: { message } });
  // the frames differ only in the text of their error, which is blank in all but the last frame
  const blank = (alike(" ") + alike("  ") + alike("   ")).repeat(10);
  expect(await catchError(streamed(blank + alike(WORDS) + DONE).result())).toMatchObject({ message: WORDS });
  const content = (text: string) => choice({ delta: { content: text } });
  const begun = (content("a") + content("b") + content("c")).repeat(10);
  const named = `event: error\n${content(WORDS)}`;
  expect(await catchError(streamed(begun + named + DONE).result())).toMatchObject({
    reason: "server-error",
  });
});

test("A response can contain the text of errors", async () => {
  const parts = ['{"error":{"message":"x"}}\n', "error: none\n\n", "<html></html>", 'data: {"error":1}\n\n'];
  const calls = [{ index: 0, id: "a", function: { name: "log", arguments: '{"error":"none"}' } }];
  const text =
    parts.map((content) => frame({ content })).join("") + frame({ tool_calls: calls }, "tool_calls");
  const turn = await streamed(text + DONE).result();
  expect(turn).toMatchObject({ outcome: "tool-calls", message: { content: parts.join("") } });
});

test("Lines and events that are not errors do not end a response", async () => {
  const stray = 'keep-alive\n{"type":"ping"}\n retry\n data: {"x":1}\nevent: ping\ndata: pong\n\nid\n\n';
  const text = frame({ content: "a" }) + stray + frame({ content: "b" }, "stop");
  expect(await streamed(text + DONE).result()).toMatchObject({
    outcome: "complete",
    message: { content: "ab" },
  });
});

test("A text instead of the rest is the reason, unless a finish_reason came", async () => {
  const begun = frame({ content: "Hello" });
  const words = "upstream connect error or disconnect/reset before headers";
  const done = await catchError(streamed(`${begun}${words}\n\n${DONE}`).result());
  expect(done).toMatchObject({ name: "StreamError", reason: "server-error", message: words });
  // a connection that broke can be resumed
  const cut = await catchError(streamed(begun + words).result());
  expect(cut).toMatchObject({
    name: "StreamError",
    reason: "truncated",
    message: expect.stringContaining(words),
  });
  const finished = begun + frame({}, "stop");
  expect((await streamed(`${finished}${words}\n\n${DONE}`).result()).outcome).toBe("complete");
});

test("An error whose JSON is truncated is a truncated stream", async () => {
  for (const half of [
    'error: {"message":"over',
    '{"error":{"message":"over',
    'data: {"error":{"mess',
    "erro",
    "error",
  ])
    expect(await catchError(streamed(frame({ content: "Hello" }) + half).result())).toMatchObject({
      reason: "truncated",
      partial: { content: "Hello" },
    });
});

test("100,000 stray lines cost linear time and little memory", async () => {
  const stray = '{"a":[1,\n]}\nno field\n'.repeat(100_000);
  const text = frame({ content: "a" }) + stray + frame({ content: "b" }, "stop") + DONE;
  expect((await streamed(text).result()).message.content).toBe("ab");
});

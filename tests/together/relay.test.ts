import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { type Client, createClient, streamChat, toResponse } from "@sluice/core";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  question,
  streamResponse,
} from "../../packages/core/test/support/gateway.js";

/* An app's own server between the gateway and the page: it forwards the stream of streamChat with toResponse(). */

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const text = frame({ content: "Hel" }) + frame({ content: "lo" });
const call = (fields: object) => frame({ tool_calls: [{ index: 0, ...fields }] });
const calls =
  frame({ reasoning_content: "Hm." }) +
  call({ id: "a", type: "function", function: { name: "weather", arguments: "" } }) +
  call({ function: { arguments: '{"city":' } }) +
  call({ function: { arguments: '"Oslo"}' } }) +
  frame({}, "tool_calls", { usage }) +
  DONE;

let server: Server;
let url: string;
let responses: (() => Response)[] = [];
let requestCount = 0;

/** Streams a chat for each request. The gateway sends the next of `responses`. */
const passOn: RequestListener = async (incoming, outgoing) => {
  incoming.resume();
  const { client } = createTestClient(
    () => (responses[Math.min(requestCount++, responses.length - 1)] as () => Response)(),
    {
      retry: { limit: 0 },
      onEvent: () => {},
    },
  );
  const response = await toResponse(streamChat(client, question), { headers: { "x-mine": "1" } });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  Readable.fromWeb(response.body as NodeReadableStream).pipe(outgoing);
};

beforeAll(async () => {
  server = createServer(passOn);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function relaying(...next: (string | (() => Response))[]): { openai: OpenAI; own: Client } {
  responses = next.map((each) => (typeof each === "string" ? () => streamResponse(each) : each));
  requestCount = 0;
  return {
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 }),
    own: createClient({ baseURL: url, random: () => 0, onEvent: () => {} }),
  };
}
const body = { model: "delta-5.3", messages: [{ role: "user" as const, content: "Hello" }] };

test("the openai client reads a relayed stream, with its helper and by hand", async () => {
  const { openai } = relaying(text + frame({}, "stop", { usage }) + DONE);
  const completion = await openai.chat.completions.stream(body).finalChatCompletion();
  expect(completion).toMatchObject({
    id: "chat-1",
    model: "delta-5.3",
    created: 1_755_000_000,
    choices: [{ finish_reason: "stop", message: { role: "assistant", content: "Hello" } }],
    usage,
  });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...body, stream: true }))
    chunks.push(chunk);
  for (const chunk of chunks)
    expect(chunk).toMatchObject({
      id: "chat-1",
      object: "chat.completion.chunk",
      created: 1_755_000_000,
      model: "delta-5.3",
    });
  expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: "assistant", content: "Hel" },
    { content: "lo" },
    undefined,
    {},
  ]);
});

test("the openai client reads relayed tool calls, with a new id if the gateway gave none", async () => {
  const { openai } = relaying(
    calls,
    call({ function: { name: "weather", arguments: "{}" } }) + frame({}, "tool_calls") + DONE,
  );
  const given = { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
  const first = await openai.chat.completions.stream(body).finalChatCompletion();
  expect(first.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { tool_calls: [given] } });
  const second = await openai.chat.completions.stream(body).finalChatCompletion();
  expect(second.choices[0]?.message.tool_calls).toMatchObject([
    { id: "call-0", function: { arguments: "{}" } },
  ]);
});

test("chunks have an id, a time and a model, also if the gateway sends none", async () => {
  const { openai } = relaying(
    event({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }) + DONE,
  );
  const completion = await openai.chat.completions.stream(body).finalChatCompletion();
  expect(completion.id).toMatch(/^chatcmpl-/);
  expect(completion.created).toBeGreaterThan(1_700_000_000);
});

test.each([
  [text + frame({}, "stop", { usage }) + DONE, true],
  [text + frame({}, "stop"), false],
  [text + DONE, true],
])("[DONE] is relayed only if it came: %#", async (content, isDone) => {
  relaying(content);
  const output = await (await fetch(url)).text();
  expect(output.endsWith("data: [DONE]\n\n")).toBe(isDone);
});

const refusal =
  (status: number, headers: HeadersInit = {}) =>
  () =>
    Response.json(
      { error: { message: "slow down", type: "rate_limit", code: "too_many", param: "model" } },
      { status, headers: { "x-request-id": "r-1", ...headers } },
    );

test("a refusal keeps its status, its error and its request id for both clients", async () => {
  const { openai, own } = relaying(refusal(403));
  expect(await catchError(openai.chat.completions.create({ ...body, stream: true }))).toMatchObject({
    status: 403,
    type: "rate_limit",
    code: "too_many",
    param: "model",
    message: expect.stringContaining("slow down"),
  });
  expect(await catchError(streamChat(own, question).result())).toMatchObject({
    name: "APIError",
    status: 403,
    message: "slow down",
    type: "rate_limit",
    code: "too_many",
    param: "model",
    requestId: "r-1",
  });
  const response = await fetch(url);
  expect(response.headers.get("x-mine")).toBe("1");
});

test("a refusal that may pass is repeated by the next client after the gateway's waiting time", async () => {
  const { own } = relaying(refusal(429, { "retry-after": "0" }), text + frame({}, "stop") + DONE);
  expect(await streamChat(own, question).result()).toMatchObject({ message: { content: "Hello" } });
  expect(requestCount).toBe(2);
});

test("an unreachable gateway is a 502, and a broken rule is a 400", async () => {
  relaying(() => {
    throw new TypeError("fetch failed");
  });
  expect((await fetch(url)).status).toBe(502);
  const { client } = createTestClient(() => streamResponse(text));
  const wrong = { ...question, max_tokens: 0 };
  const response = await toResponse(streamChat(client, wrong));
  expect([response.status, (await response.json()).error.param]).toEqual([400, "max_tokens"]);
});

test("an error after the start is an error for both clients, with the text so far", async () => {
  const broken = text + event({ error: { message: "out of memory", type: "server_error", code: "oom" } });
  const { openai, own } = relaying(broken);
  const error = await catchError(openai.chat.completions.stream(body).finalChatCompletion());
  expect(error).toMatchObject({ code: "oom", type: "server_error" });
  expect(await catchError(streamChat(own, question).result())).toMatchObject({
    name: "StreamError",
    reason: "server-error",
    code: "oom",
    partial: { content: "Hello" },
  });
  relaying(text);
  expect(await catchError(streamChat(own, question).result())).toMatchObject({ reason: "truncated" });
});

test("an abort during the request is thrown, and is not a response", async () => {
  const { client } = createTestClient(() => new Promise<never>(() => {}));
  const stream = streamChat(client, question);
  const response = toResponse(stream);
  stream.abort();
  expect(await catchError(response)).toMatchObject({ name: "AbortError" });
});

import { type ClientOptions, completeChat, createClient, standardFetch, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { catchError, DONE, frame, question, stoppedClock } from "./support/gateway.js";

const text = frame({ content: "Hello \u{1F30A}" }) + frame({}, "stop") + DONE;

/** A response with another body than a stream of bytes, as some implementations of `fetch` have. */
function respond(body: unknown, init: ResponseInit = {}, more: object = {}): Response {
  const response = new Response(null, { headers: { "content-type": "text/event-stream" }, ...init });
  return Object.defineProperties(response, {
    body: { value: body },
    ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, { value }])),
  });
}

function open(response: Response, options: Partial<ClientOptions> = {}, adapt = standardFetch) {
  const fetch = adapt(async () => response);
  return createClient({ baseURL: "https://gateway.test", fetch, retry: { limit: 0 }, ...options });
}

/** Reads like a Node stream. */
async function* iterate(pieces: readonly unknown[]) {
  yield* pieces;
}

const stream = (pieces: readonly unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });

describe("standardFetch", () => {
  test.each<[string, () => Response]>([
    ["no stream", () => respond(undefined, {}, { text: async () => text })],
    ["a standard stream", () => new Response(text)],
  ])("reads a response with %s", async (_, create) => {
    const client = open(create());
    const { message, outcome } = await streamChat(client, question).result();
    expect([message.content, outcome]).toEqual(["Hello \u{1F30A}", "complete"]);
  });

  test("reads a whole response once, and leaves no timer", async () => {
    const texts = [
      JSON.stringify({
        choices: [{ message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
      }),
    ];
    const clock = stoppedClock();
    const read = async () => {
      const text = texts.shift();
      if (text === undefined) throw new TypeError("the body was read before");
      return text;
    };
    const client = open(respond(undefined, {}, { text: read }), { clock });
    expect((await completeChat(client, question)).message.content).toBe("Hello");
    expect(clock.sleeping()).toBe(0);
  });

  test("reads the error of a refusal", async () => {
    const text = async () => JSON.stringify({ error: { message: "no such model" } });
    const client = open(respond(undefined, { status: 400 }, { text }));
    expect(await catchError(completeChat(client, question))).toMatchObject({
      name: "APIError",
      status: 400,
      message: "no such model",
    });
  });
});

describe("without standardFetch", () => {
  test.each<[string, () => Response]>([
    ["no stream", () => respond(undefined, {}, { text: async () => text })],
    ["a Node stream", () => respond(iterate([new TextEncoder().encode(text)]))],
    ["a stream of text", () => respond(stream([text]))],
  ])("a response with %s may be billed, and its error names the function", async (_, create) => {
    const expected = {
      name: "ConnectionError",
      billing: "maybe",
      message: expect.stringContaining("standardFetch(fetch)"),
    };
    const keep = <Value>(value: Value) => value;
    expect(await catchError(streamChat(open(create(), {}, keep), question).result())).toMatchObject(expected);
    expect(await catchError(completeChat(open(create(), {}, keep), question))).toMatchObject(expected);
  });

  test("an empty body is an empty response", async () => {
    const client = open(new Response(null), {}, (fetch) => fetch);
    expect(await catchError(streamChat(client, question).result())).toMatchObject({
      name: "StreamError",
      reason: "truncated",
    });
  });
});

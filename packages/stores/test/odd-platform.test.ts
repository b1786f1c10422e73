import {
  type ClientOptions,
  completeChat,
  createClient,
  createVideoTask,
  generateImages,
  standardFetch,
  streamChat,
  toResponse,
} from "@sluice/core";
import { createChatStore, indexedDBStorage, memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  event,
  frame,
  question,
  streamResponse,
} from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";

/* Platforms and `fetch` functions that differ from the standard: each works, or fails with an error that names the fix. */

afterEach(() => vi.unstubAllGlobals());

const words = "Grüße 👋 from afar";
const streamed = streamText(words);
const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: words }, finish_reason: "stop" }],
});

/** Creates a response with any value as its body, as custom `fetch` functions do. */
function createResponse(body: unknown, status = 200): Response {
  const response = new Response(null, { status });
  Object.defineProperty(response, "body", { value: body });
  return response;
}

/** Creates a client whose `fetch` goes through `standardFetch`. `respond` gets the number of the request, from 1 up. */
function openAdapted(respond: (nth: number) => Response) {
  const requests: Request[] = [];
  const { client } = createTestClient(() => new Response(), {
    fetch: standardFetch(async (request) => respond(requests.push(request))),
  });
  return { client, requests };
}

async function* readPieces(text: string, made: (piece: string) => unknown) {
  // splits characters of two code units
  for (let at = 0; at < text.length; at += 1) yield made(text.charAt(at));
}

function createStream(text: string, made: (piece: string) => unknown): ReadableStream {
  const pieces = readPieces(text, made);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Returns the body, and a promise that resolves when its reader closes it before its end. */
function watchClose(given: unknown): { readonly body: unknown; readonly closed: Promise<void> } {
  const body = given as AsyncIterable<unknown> | ReadableStream;
  let resolve = () => {};
  const closed = new Promise<void>((resolveClosed) => {
    resolve = resolveClosed;
  });
  if (!(body instanceof ReadableStream)) return { body: watch(body), closed };
  const reader = body.getReader();
  const watched = new ReadableStream({
    pull: async (controller) => controller.enqueue((await reader.read()).value),
    cancel: () => resolve(),
  });
  return { body: watched, closed };

  async function* watch(pieces: AsyncIterable<unknown>) {
    try {
      yield* pieces;
    } finally {
      resolve();
    }
  }
}

const encode = (piece: string) => new TextEncoder().encode(piece);
const bodies: readonly (readonly [string, (text: string) => unknown])[] = [
  ["a stream of texts", (text) => createStream(text, (piece) => piece)],
  [
    "a stream of buffers",
    (text) => createStream(text, (piece) => Uint8Array.from(encodeWhole(piece)).buffer),
  ],
  [
    "a stream of views",
    (text) => createStream(text, (piece) => new DataView(encodeWhole(piece).slice().buffer)),
  ],
  ["an iterable of bytes, as of Node", (text) => readPieces(text, encodeWhole)],
  ["an iterable of texts, as of Node with an encoding", (text) => readPieces(text, (piece) => piece)],
];

let pendingHalf = "";
/** Encodes a piece. A half character at its end is encoded with the next piece. */
function encodeWhole(piece: string): Uint8Array {
  const text = pendingHalf + piece;
  pendingHalf = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : "";
  return encode(pendingHalf ? text.slice(0, -1) : text);
}

describe.each(bodies)("With standardFetch, a response whose body is %s", (_, made) => {
  test("is read as a stream and as JSON", async () => {
    const { client } = openAdapted((nth) => createResponse(made(nth === 1 ? streamed : whole)));
    expect((await streamChat(client, question).result()).message.content).toBe(words);
    expect((await completeChat(client, question)).message.content).toBe(words);
  });

  test("is an error with the gateway's message, and is not repeated", async () => {
    const refusal = JSON.stringify({ error: { message: `no ${words}`, code: "bad" } });
    const { client, requests } = openAdapted(() => createResponse(made(refusal), 400));
    expect(await catchError(streamChat(client, question).result())).toMatchObject({
      name: "APIError",
      status: 400,
      message: `no ${words}`,
    });
    expect(requests).toHaveLength(1);
  });

  test("is closed when the caller stops", async () => {
    const { body, closed } = watchClose(made(frame({ content: "Hi" }).repeat(50)));
    const { client } = openAdapted(() => createResponse(body));
    for await (const delta of streamChat(client, question)) if (delta.type === "text-delta") break;
    await closed;
  });
});

describe("A response whose body was read by other code", () => {
  const readers: readonly (readonly [string, (response: Response) => unknown])[] = [
    ["locked", (response) => response.body?.getReader()],
    ["used", (response) => response.text()],
    ["used and released", async (response) => (await response.body?.getReader().read())?.done],
  ];

  test.each(readers)("is an error that names the fix, and is requested once: %s", async (_, read) => {
    const respond = async (text: string, status = 200) => {
      const response = new Response(text, { status });
      await read(response);
      return response;
    };
    const { client, requests } = createTestClient(() => respond(streamed));
    const lost = {
      name: "ConnectionError",
      billing: "maybe",
      message: expect.stringMatching(/response\.clone\(\)/),
    };
    expect(await catchError(streamChat(client, question).result())).toMatchObject(lost);
    expect(await catchError(completeChat(client, question))).toMatchObject(lost);
    expect(requests).toHaveLength(2);
    const image = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;
    expect(await catchError(generateImages(client, image))).toMatchObject(lost);
    const chat = createChatStore(client, { model: "delta-5.3" });
    expect(await chat.send("Hello")).toMatchObject({ outcome: "error", error: lost });
    // an error response stays one
    const refused = createTestClient(() => respond("{}", 400));
    expect(await catchError(streamChat(refused.client, question).result())).toMatchObject({ status: 400 });
    expect(refused.requests).toHaveLength(1);
  });

  test("is read if a wrapper reads a clone of it", async () => {
    const { client } = createTestClient(async () => {
      const response = streamResponse(streamed);
      await response.clone().text();
      return response;
    });
    expect((await streamChat(client, question).result()).message.content).toBe(words);
  });
});

test("A body of another type is an error that names the fix", async () => {
  for (const piece of [5, {}, null]) {
    for (const open of [createTestClient, openAdapted]) {
      const { client } = open(() => createResponse(createStream("a", () => piece)));
      expect(await catchError(streamChat(client, question).result())).toMatchObject({
        message: expect.stringContaining("not a stream of bytes"),
        billing: "maybe",
      });
    }
  }
});

test("A response without a body that was read by other code is an error that names the fix, too", async () => {
  const response = createResponse(undefined);
  Object.defineProperty(response, "bodyUsed", { value: true });
  response.text = () => Promise.reject(new TypeError("Already read"));
  const { client } = createTestClient(() => response);
  expect(`${await catchError(completeChat(client, question))}`).toContain("response.clone()");
});

test("A redirect that `fetch` returns, with a stream of Node as its body, is an error with its status", async () => {
  const { client } = createTestClient(() => createResponse(readPieces("moved", encode), 302));
  expect(await catchError(streamChat(client, question).result())).toMatchObject({ status: 302 });
});

/** Creates a chat whose `fetch` does not depend on the platform. */
function createChat(options: Partial<ClientOptions> = {}) {
  const sent: unknown[] = [];
  const client = createClient({
    onEvent: () => {},
    baseURL: "https://gateway.test",
    fetch: async (request) => {
      sent.push(await request.clone().json());
      return streamResponse(streamed);
    },
    ...options,
  });
  return {
    client,
    sent,
    chat: createChatStore(client, { model: "delta-5.3", id: "c", storage: memoryStorage() }),
  };
}

describe("The client", () => {
  test("creates ids on a platform without crypto", async () => {
    vi.stubGlobal("crypto", undefined);
    const { chat } = createChat();
    await chat.send("Hello");
    const turn = await chat.send("Again");
    expect(turn).toMatchObject({ outcome: "complete" });
    const ids = chat.getSnapshot().messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    const nameless = event({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] });
    const { client } = createTestClient(() => streamResponse(nameless));
    const response = await toResponse(streamChat(client, question));
    expect(await response.text()).toMatch(/"id":"chatcmpl-\d/);
    chat.close();
  });

  test("lets the page render on a platform without MessageChannel", async () => {
    vi.stubGlobal("MessageChannel", undefined);
    // time passes so fast that the client lets the page render after each delta
    let now = 0;
    const clock = { now: () => (now += 20), sleep: () => new Promise<void>(() => {}) };
    const { chat } = createChat({ clock });
    expect(await chat.send("Hello")).toMatchObject({ outcome: "complete" });
    chat.close();
  });

  test.each(["TextDecoder", "TextEncoder", "queueMicrotask", "performance"])(
    "names a missing %s before anything is sent",
    async (name) => {
      const { client, sent } = createChat({
        clock: { now: () => 0, sleep: () => new Promise<void>(() => {}) },
      });
      const chat = createChatStore(client, { model: "delta-5.3" });
      const before = globalThis[name as keyof typeof globalThis];
      onTestFinished(() => void Reflect.set(globalThis, name, before));
      Reflect.deleteProperty(globalThis, name);
      const named = {
        name: "ConfigurationError",
        message: expect.stringMatching(`no ${name}: load a polyfill`),
      };
      const failures = [
        await catchError(completeChat(client, question)),
        await catchError((async () => streamChat(client, question).result())()),
        await catchError(createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } })),
        (await chat.send("Hello")).error,
      ];
      Reflect.set(globalThis, name, before);
      for (const failure of failures) expect(failure).toMatchObject(named);
      expect(sent).toEqual([]);
    },
  );
});

test("A page whose old library adds a field to arrays sends its requests", async () => {
  Object.defineProperty(Array.prototype, "each", { value: () => {}, enumerable: true, configurable: true });
  onTestFinished(() => void Reflect.deleteProperty(Array.prototype, "each"));
  const { chat, sent } = createChat();
  const turn = await chat.send("Hello");
  expect([turn.outcome, turn.messages.at(-1)?.content, sent.length]).toEqual(["complete", words, 1]);
});

describe("indexedDBStorage on a platform without IndexedDB", () => {
  test("is created, and rejects at its first use", async () => {
    const storage = indexedDBStorage();
    await expect(storage.read("chat")).rejects.toThrow("indexedDB");
    await expect(storage.write("chat", new Map([["a", 1]]))).rejects.toThrow("indexedDB");
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, chat, IMAGES, startAttacked, stream, VIDEOS } from "./support/attacked.js";
import { containsKey } from "./support/contains-key.js";
import { KEY } from "./support/key.js";
import {
  createPiece,
  createResponse,
  done,
  json,
  type RawResponse,
  stopped,
  streamHead,
} from "./support/raw-gateway.js";

type Proxy = Awaited<ReturnType<typeof startAttacked>>;

const escaped = [...KEY].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const upper = escaped.replace(/[\da-f]{4}/g, (digits) => digits.toUpperCase());
const mixed = [...KEY]
  .map((letter, at) => (at % 3 ? letter : `\\u00${letter.charCodeAt(0).toString(16)}`))
  .join("");
const [first, second] = [KEY.slice(0, 11), KEY.slice(11)];
const event = (json: string) => `data: ${json}\n\n`;
const delta = (fields: string) => event(`{"choices":[{"index":0,"delta":{${fields}},"finish_reason":null}]}`);
const written = (text: string) => delta(`"content":"${text}"`);

/** The forms of the key in a stream of a gateway. Each text of a list is one write. */
const streams: readonly [string, readonly string[]][] = [
  ["as it is", [written(KEY)]],
  ["in escapes", [written(escaped)]],
  ["in escapes in upper case", [written(upper)]],
  ["half in escapes", [written(mixed)]],
  [
    "over two writes",
    [`data: {"choices":[{"index":0,"delta":{"content":"${first}`, `${second}"},"finish_reason":null}]}\n\n`],
  ],
  ["in escapes over two writes", [`data: {"a":"${escaped.slice(0, 33)}`, `${escaped.slice(33)}"}\n\n`]],
  ["over two events", [written(first), written(second)]],
  ["in escapes over two events", [written(escaped.slice(0, 66)), written(escaped.slice(66))]],
  ["over two events with a comment between", [written(first), ": alive\n\n", written(second)]],
  ["over two events, with an empty one between", [written(first), written(""), written(second)]],
  ["over four events", [0, 7, 14, 21].map((at) => written(KEY.slice(at, at + 7)))],
  ["over two events of reasoning", [first, second].map((part) => delta(`"reasoning_content":"${part}"`))],
  [
    "over two events of a tool's arguments",
    [first, second].map((part) => delta(`"tool_calls":[{"index":0,"function":{"arguments":"${part}"}}]`)),
  ],
  ["in the second of two data lines", [`data: {"choices":[{"delta":\ndata: {"content":"${escaped}"}}]}\n\n`]],
  ["over two data lines", [`data: {"choices":[{"delta":{"content":"${first}\ndata: ${second}"}}]}\n\n`]],
  ["as the name of a field", [event(`{"${mixed}":1}`)]],
  ["as the id of a chunk", [event(`{"id":"${KEY}","choices":[]}`)]],
  ["in a comment", [`: ${KEY}\n\n`]],
  ["as the name of an event", [`event: ${KEY}\ndata: {}\n\n`]],
  ["as the id of an event", [`id: ${KEY}\ndata: {}\n\n`]],
  ["in an error", [`event: error\n${event(`{"error":{"message":"bad key ${mixed}"}}`)}`]],
  ["in a long line", [written(`${"x".repeat(300_000)}${escaped}`)]],
  ["across the end of the first MiB of a line", [written(`${"x".repeat(1024 * 1024 - 60)}${KEY}`)]],
  ["without a blank line behind it", [`data: {"choices":[{"delta":{"content":"${escaped}"}}]}\n`]],
  ["with lines that end in CR", [written(escaped).replaceAll("\n", "\r")]],
];

/** Writes the pieces one after the other, so that the proxy reads each separately. */
function inPieces(pieces: readonly string[]): RawResponse {
  return (socket) => {
    const [piece, ...rest] = pieces;
    if (piece === undefined) return void socket.end();
    socket.write(piece, () => setTimeout(() => inPieces(rest)(socket, undefined as never), 2));
  };
}

describe.each([
  ["that is counted", { budget: { user: 1_000_000_000 } }],
  ["that is kept", { resumable: true }],
])("in a stream %s (case 54)", (_, plan) => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({ plan });
  });
  afterAll(() => proxy.close());

  test.each(streams)("the key %s does not reach the client", async (_how, pieces) => {
    proxy.upstream.respondWith(inPieces([streamHead, createPiece("Hello"), ...pieces, stopped(), done]));
    const response = await proxy.send("ada", stream);
    const text = await response.text();
    expect(containsKey(text, KEY)).toBe(false);
    expect(text).toContain("event: error");
    expect(text).not.toContain("[DONE]");
  });
});

describe("in what is passed on unread (case 54)", () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({ options: { routes: ["chat", "images", "videos"] } });
  });
  afterAll(() => proxy.close());

  test.each([
    ["as it is", written(KEY)],
    ["in escapes", written(escaped)],
    ["in an error", `event: error\n${event(`{"error":{"message":"bad key ${mixed}"}}`)}`],
  ])("the key %s in the head of a stream does not reach the client", async (_, piece) => {
    proxy.upstream.respondWith(inPieces([streamHead + piece, stopped(), done]));
    const text = await (await proxy.send("ada", stream)).text();
    expect(containsKey(text, KEY)).toBe(false);
  });

  const messages: readonly [string, string][] = [
    ["as it is", `{"id":"1","choices":[{"message":{"content":"${KEY}"}}]}`],
    ["in escapes", `{"id":"1","choices":[{"message":{"content":"a ${escaped}"}}]}`],
    ["half in escapes", `{"id":"1","choices":[{"message":{"content":"${mixed}"}}]}`],
    ["as the name of a field", `{"id":"1","${escaped}":1}`],
    ["in escapes in JSON that it quotes", written(escaped.replaceAll("\\", "\\\\")).slice("data: ".length)],
    ["deep within", `{"id":"1","a":[[[[{"b":["${mixed}"]}]]]]}`],
  ];
  test.each(messages)("the key %s in JSON does not reach the client", async (_, body) => {
    proxy.upstream.respondWith((socket) => socket.end(json(body)));
    for (const [path, request] of [
      [CHATS, chat],
      [IMAGES, { model: "gamma-image-5-0-260128", prompt: "a" }],
      [VIDEOS, { model: "beta3.0-video", input: { prompt: "a" } }],
    ] as const) {
      const response = await proxy.send("ada", request, { path });
      const text = await response.text();
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(containsKey(text, KEY)).toBe(false);
    }
  });

  test.each([
    ["its message", `{"error":{"message":"key ${mixed} is bad","code":"a","type":"b"}}`],
    ["its code", `{"error":{"message":"bad","code":"${escaped}","type":"b"}}`],
    ["its type and param", `{"error":{"message":"bad","code":"a","type":"${KEY}","param":"${escaped}"}}`],
  ])("a refusal that quotes the key in %s is passed on without the key", async (_, body) => {
    for (const status of [400, 401, 404, 429, 500]) {
      proxy.upstream.respondWith((socket) => socket.end(createResponse(status, "application/json", body)));
      const text = await (await proxy.send("ada", chat)).text();
      expect(containsKey(text, KEY)).toBe(false);
    }
  });
});

describe("a key of common words (case 55)", () => {
  const words = "acme-gateway-production-key";
  let proxies: readonly Proxy[];
  beforeAll(async () => {
    proxies = await Promise.all([
      startAttacked({ key: words }),
      startAttacked({ key: words, plan: { budget: { user: 1_000_000 } } }),
    ]);
  });
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));

  test("lets responses mention production, gateways and keys", async () => {
    for (const proxy of proxies) {
      const text = "The production key of the acme gateway: acme-gateway-production is no error.";
      proxy.upstream.respondWith(inPieces([streamHead, createPiece(text), stopped(), done]));
      expect(await (await proxy.send("ada", stream)).text()).toContain("[DONE]");
      proxy.upstream.respondWith((socket) =>
        socket.end(json(JSON.stringify({ id: "1", choices: [{ message: { content: text } }] }))),
      );
      const response = await proxy.send("ada", chat);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(text)]);
      proxy.upstream.respondWith((socket) =>
        socket.end(createResponse(400, "application/json", '{"error":{"message":"no production model"}}')),
      );
      expect((await proxy.call("ada", chat)).error?.["message"]).toBe("no production model");
    }
  });

  test("is itself not logged", async () => {
    for (const proxy of proxies) {
      proxy.upstream.respondWith((socket) =>
        socket.end(json(JSON.stringify({ id: "1", a: `the ${words}` }))),
      );
      const response = await proxy.send("ada", chat);
      expect(response.status).toBe(502);
      expect(await response.text()).not.toContain(words);
    }
  });
});

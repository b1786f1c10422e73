import { readStreams } from "@sluice/worker-proxy";
import { describe, expect, test, vi } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { chat, createRequest, openProxy } from "./support/in-process.js";

expectLog("is not a field of this model");

const text = (body: string) => createRequest({ body });
const json = JSON.stringify(chat);
const latin1 = (body: string) => Uint8Array.from(body, (letter) => letter.charCodeAt(0));

test("a body may be as large as `maxBodyBytes` says, and no byte larger", async () => {
  for (const headers of [{}, { "content-length": `${json.length}` }]) {
    const withLimit = (bodyBytes: number) =>
      openProxy({ limits: { maxBodyBytes: bodyBytes } }).call(createRequest({ headers, body: json }));
    expect((await withLimit(json.length)).status).toBe(200);
    expect((await withLimit(json.length - 1)).status).toBe(413);
  }
});

test.each([
  ["that is compressed (case 23)", createRequest({ headers: { "content-encoding": "gzip" } }), 415],
  ["that is no UTF-8 (case 24)", createRequest({ body: latin1('{"model":"delta-5.3","x":"\u00ff"}') }), 400],
  ["that ends within a letter (case 24)", createRequest({ body: new Uint8Array([0x22, 0xc3]) }), 400],
  ["with a byte order mark (case 24)", text(`\ufeff${json}`), 400],
  ["that is a list (case 24)", text(`[${json}]`), 400],
  ["that is a text (case 24)", text('"alpha"'), 400],
  ["that is null (case 24)", text("null"), 400],
  ["that is empty (case 24)", text(""), 400],
  ["that is not there (case 24)", new Request(createRequest(), { body: null }), 400],
  ["that breaks off (case 24)", text(json.slice(0, -1)), 400],
  [
    "10,000 levels deep (case 24)",
    text(`{"model":"delta-5.3","x":${"[".repeat(1e4)}${"]".repeat(1e4)}}`),
    400,
  ],
  ["with __proto__ at the top (case 24)", text('{"model":"delta-5.3","__proto__":{"a":1}}'), 400],
  ["with __proto__ deep inside (case 24)", text('{"model":"delta-5.3","x":[{"\\u005f_proto__":1}]}'), 400],
  ["with Model beside model (case 26)", text('{"model":"delta-5.3","Model":"gamma-asset"}'), 400],
  ["with MODEL alone (case 26)", text('{"MODEL":"delta-5.3"}'), 400],
  ["with a Kelvin sign (case 26)", text('{"model":"delta-5.3","max_to\u212aens":9}'), 400],
  ["with a long s (case 26)", text('{"model":"delta-5.3","me\u017f\u017fages":[]}'), 400],
  ["with a number beyond all numbers", text('{"model":"delta-5.3","max_tokens":1e400}'), 400],
  ["for a model that is not listed (case 27)", text('{"model":"gamma-video-2.0"}'), 403],
  ["for a model with a space (case 27)", text('{"model":" delta-5.3"}'), 403],
  ["for a model with a NUL (case 27)", text('{"model":"delta-5.3\\u0000"}'), 403],
  ["for a model in capitals (case 27)", text('{"model":"DELTA-5.3"}'), 403],
  ["for a list of models (case 27)", text('{"model":["delta-5.3"]}'), 403],
  ["for a number (case 27)", text('{"model":5}'), 403],
  ["for no model (case 27)", text('{"messages":[]}'), 403],
  ["for a video model on the chat path (case 27)", text('{"model":"beta3.0-video"}'), 403],
  ["for what every object inherits (case 27)", text('{"model":"constructor"}'), 403],
])("a body %s is refused", async (_, request, status) => {
  const { reached, call } = openProxy();
  const response = await call(request);
  expect(response.status).toBe(status);
  expect(response.error).toEqual({
    message: expect.any(String),
    type: status === 403 ? "permission_error" : "invalid_request_error",
    code: expect.any(String),
    ...(response.error?.["param"] && { param: expect.any(String) }),
  });
  if (status === 403) expect(response.error?.["code"]).toBe("model_not_allowed");
  expect(reached).toEqual([]);
});

test.each([
  '{"model":"gamma-asset","model":"delta-5.3"}',
  '{"model":"gamma-asset","\\u006dodel":"delta-5.3"}',
])("the gateway gets only the checked value of a duplicate key: %s (case 25)", async (body) => {
  const { reached, call } = openProxy();
  expect((await call(text(body))).status).toBe(200);
  expect(await reached[0]?.text()).toBe('{"model":"delta-5.3"}');
});

test("a key that is there twice with a model that is not allowed last is refused (case 25)", async () => {
  const { call } = openProxy();
  expect((await call(text('{"model":"delta-5.3","model":"gamma-asset"}'))).status).toBe(403);
});

describe("values are counted before anything is built of them (case 48)", () => {
  /** Creates a chat request with a value in the JSON Schema of a tool, which can contain any JSON. */
  const withSchema = (schema: string) =>
    `{"model":"delta-5.3","tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`;
  const createList = (value: string, count: number) => `[${Array(count).fill(value).join()}]`;
  const keys = Array.from({ length: 210_000 }, (_, nth) => `"k${nth}":0`);

  test.each([
    ["numbers", withSchema(createList("0", 210_000))],
    ["objects", withSchema(createList("{}", 110_000))],
    ["lists in lists", withSchema(createList("[[]]", 70_000))],
    ["distinct keys", withSchema(`{${keys.join()}}`)],
    ["texts", withSchema(createList('"\\\\"', 210_000))],
    ["what is no JSON", ",".repeat(210_000)],
    ["closings and openings", "][".repeat(210_000)],
  ])("a body of very many %s is refused, and never parsed", async (_, body) => {
    const { reached, send } = openProxy();
    const parse = vi.spyOn(JSON, "parse");
    const { status } = await send(text(body));
    expect([status, parse.mock.calls.length, reached.length]).toEqual([400, 0, 0]);
    parse.mockRestore();
  });

  test("the limit is 200,000 values and 64 levels", async () => {
    const { call } = openProxy();
    const status = async (schema: string) => (await call(text(withSchema(schema)))).status;
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    // eight values are around the list
    expect(await status(createList("0", 199_992))).toBe(200);
    expect(await status(createList("0", 199_993))).toBe(400);
    expect([await status(nested(60)), await status(nested(61))]).toEqual([200, 400]);
  });

  test("brackets and commas within strings are not counted, whatever is escaped in them", async () => {
    const { call, sent } = openProxy();
    const contents = [
      ",".repeat(300_000),
      "[{".repeat(100_000),
      '\\"[,'.repeat(100_000),
      `${"\\".repeat(100_001)}"`,
      '"',
      "",
      "\u00fc\ud83d\ude00\u2028",
    ];
    const messages = contents.map((content) => ({ role: "user", content }));
    expect((await call(createRequest({ body: { ...chat, messages } }))).status).toBe(200);
    expect((await sent())["messages"]).toEqual(messages);
  });

  test("a text that does not end is refused", async () => {
    const { call } = openProxy();
    for (const body of ['{"model":"', '{"model":"\\"', `${json.slice(0, -1)},"a\\\\\\"`])
      expect((await call(text(body))).status).toBe(400);
  });
});

test("a body that trickles is refused with 408, and cancelled", async () => {
  let isLetGo = false;
  const body = new ReadableStream({
    pull: () => new Promise(() => {}),
    cancel() {
      isLetGo = true;
    },
  });
  const { reached, call } = openProxy({ timeout: { bodyMs: 5 } });
  const { status } = await call(createRequest({ body }));
  expect([status, isLetGo]).toEqual([408, true]);
  expect(reached).toEqual([]);
});

test("a chat without `max_tokens` gets the cap on tokens", async () => {
  const { reached, call } = openProxy({ limits: { maxTokens: 10_000 } });
  for (const max_tokens of [10_001, 0, -1, 1.5, "9", true])
    expect((await call(createRequest({ body: { ...chat, max_tokens } }))).status).toBe(400);
  expect(reached).toEqual([]);
  await call(createRequest({ body: { ...chat, max_tokens: 10_000 } }));
  await call(createRequest());
  await call(createRequest({ body: { ...chat, model: "gamma-chat-1-6-251015" } }));
  const sent = await Promise.all(reached.map((request) => request.json() as Promise<{ max_tokens: number }>));
  expect(sent.map(({ max_tokens }) => max_tokens)).toEqual([10_000, 10_000, 8192]);
});

test("Tokens are a number, also without a cap, before a meter computes with them", async () => {
  const meter = { ...readStreams(), reserve: () => Promise.reject(new Error("the meter was asked")) };
  for (const options of [{}, { plugins: [meter] }]) {
    const { reached, call } = openProxy(options);
    for (const max_tokens of ["9", "", 1.5, -1, 0, true, [9]])
      expect((await call(createRequest({ body: { ...chat, max_tokens } }))).status).toBe(400);
    expect(reached).toEqual([]);
  }
});

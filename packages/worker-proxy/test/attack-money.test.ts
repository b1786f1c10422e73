import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, chat, IMAGES, startAttacked, stream, VIDEOS } from "./support/attacked.js";
import { createTextReader } from "./support/event-stream.js";
import {
  createPiece,
  createResponse,
  done,
  json,
  type RawResponse,
  reply,
  stopped,
  streamed,
  streamHead,
  used,
} from "./support/raw-gateway.js";

type Proxy = Awaited<ReturnType<typeof startAttacked>>;

const routes = ["chat", "images", "videos"];
const models = ["delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"];
/** Requests of all groups that cost money. */
const requests = [
  [CHATS, chat],
  [CHATS, stream],
  [IMAGES, { model: "gamma-image-5-0-260128", prompt: "a" }],
  [VIDEOS, { model: "beta3.0-video", input: { prompt: "a" } }],
] as const;
/** Tokens that the Worker of `fixture/attacked.ts` reserves for a request without `max_tokens`, except for a video. */
const RESERVED = 1000;
/** Maximum number of concurrent readers of one stored stream. */
const MAX_READERS = 8;
const error = '{"error":{"message":"busy","type":"a","code":"b"}}';

test("a gateway that Cloudflare reports as down for an hour costs no budget (case 49)", async () => {
  const proxy = await startAttacked({
    options: { routes, models },
    plan: { budget: { user: 60_000, all: 100_000 } },
  });
  proxy.upstream.respondWith(reply(createResponse(521, "text/html", "<h1>Web server is down</h1>")));
  for (let nth = 0; nth < 5; nth += 1)
    for (const [path, body] of requests) expect((await proxy.call("ada", body, { path })).status).toBe(502);
  expect(await proxy.spent("ada")).toBe(0);
  await proxy.close();
});

test("a connection that fails in workerd is charged: the gateway may have done the work", async () => {
  const proxy = await startAttacked({
    gateway: "http://127.0.0.1:9",
    options: { routes, models },
    plan: { budget: { user: 60_000, all: 100_000 } },
  });
  const { status, error } = await proxy.call("ada", chat);
  expect([status, error?.["code"]]).toEqual([502, "upstream_cut"]);
  expect(await proxy.spent("ada")).toBe(RESERVED);
  await proxy.close();
});

describe("a reservation is released (case 49)", () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({
      options: { routes, models },
      plan: { budget: { user: 60_000, all: 1_000_000 } },
    });
  });
  afterAll(() => proxy.close());

  const page = (type: string) =>
    reply(createResponse(200, type, "<!doctype html><h1>Down for maintenance</h1>"));
  test.each<[string, RawResponse]>([
    ["a page", page("text/html")],
    ["a page that is called JSON", page("application/json")],
    ["a redirect", reply(createResponse(302, "text/plain", "", "Location: https://a.example/\r\n"))],
    ...[400, 401, 402, 403, 404, 413, 422, 429].map(
      (status) =>
        [`a ${status}`, reply(createResponse(status, "application/json", error))] as [string, RawResponse],
    ),
  ])("if the gateway responds with %s", async (what, respond) => {
    proxy.upstream.respondWith(respond);
    const user = what.replaceAll(" ", "-");
    for (let nth = 0; nth < 3; nth += 1)
      for (const [path, body] of requests)
        expect((await proxy.call(user, body, { path })).status).toBeGreaterThanOrEqual(400);
    expect(await proxy.spent(user)).toBe(0);
  });

  test.each([
    ["an event", `event: error\ndata: ${error}\n\n`],
    ["data", `data: ${error}\n\n`],
  ])("if the first event of a stream is an error, as %s", async (what, event) => {
    proxy.upstream.respondWith(streamed(event));
    const user = what.replaceAll(" ", "-");
    for (let nth = 0; nth < 3; nth += 1) await proxy.call(user, stream);
    expect(await proxy.spent(user)).toBe(0);
  });

  test("if the client disconnects before it has sent its body", async () => {
    proxy.upstream.respondWith(reply(json('{"id":"1"}')));
    await proxy.raw(
      `POST ${CHATS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer early\r\nContent-Type: application/json\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{"mod`,
    );
    expect(await proxy.spent("early")).toBe(0);
  });

  test("if the proxy itself refuses the request (case 50)", async () => {
    for (const [path, body] of requests) {
      expect((await proxy.call("refused", { ...body, model: "dear" }, { path })).status).toBe(403);
      expect((await proxy.call("refused", { ...body, fallbacks: ["dear"] }, { path })).status).toBe(400);
      expect((await proxy.call("refused", "{", { path })).status).toBe(400);
      expect((await proxy.call("refused", body, { path: `${path}?a` })).status).toBe(400);
    }
    expect(await proxy.spent("refused")).toBe(0);
  });
});

describe("a response that may have cost tokens", () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({ options: { routes, models }, plan: { budget: { user: 1_000_000 } } });
  });
  afterAll(() => proxy.close());

  test.each<[string, RawResponse, number]>([
    ["a total of null", streamed(createPiece("a"), stopped(), used(null), done), RESERVED],
    ["no usage", streamed(createPiece("a"), stopped(), done), RESERVED],
    [
      "a usage that is null",
      streamed(createPiece("a"), 'data: {"choices":[],"usage":null}\n\n', stopped(), done),
      RESERVED,
    ],
    ["a negative total", streamed(createPiece("a"), stopped(), used(-5), done), RESERVED],
    ["a total in JSON of null", reply(json('{"id":"1","usage":{"total_tokens":null}}')), RESERVED],
    ["a total that is a text", reply(json('{"id":"1","usage":{"total_tokens":"0"}}')), RESERVED],
    ["a total", streamed(createPiece("a"), stopped(), used(7), done), 7],
    ["a total in JSON", reply(json('{"id":"1","usage":{"total_tokens":8}}')), 8],
    ["a cut after an event", streamed(createPiece("a")), RESERVED],
    ["a timeout of the gateway", reply(createResponse(504, "text/html", "")), RESERVED],
  ])("is charged for %s (case 62)", async (what, respond, charge) => {
    proxy.upstream.respondWith(respond);
    const user = what.replaceAll(" ", "-");
    await proxy.call(user, what.includes("JSON") ? chat : stream);
    expect(await proxy.spent(user)).toBe(charge);
  });
});

test("a request for `n` choices reserves the tokens of one choice `n` times (case 53)", async () => {
  const proxy = await startAttacked({
    options: { routes, models: { "delta-5.3": { max_tokens: 100, n: 8 } }, allowFields: ["n"] },
    plan: { budget: { user: 500 } },
  });
  proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), done));
  expect((await proxy.call("ada", { ...stream, n: 6 })).status).toBe(429);
  expect(proxy.upstream.requests).toEqual([]);
  await proxy.call("ada", { ...stream, n: 4 });
  expect(await proxy.spent("ada")).toBe(400);
  expect((await proxy.call("ada", { ...stream, n: 9 })).status).toBe(400);
  await proxy.close();
});

describe("anonymous visitors with separate sessions (case 56)", () => {
  test.each([["address"], ["all"]])("share the budget by %s", async (by) => {
    const proxy = await startAttacked({
      options: { routes },
      plan: { budget: { user: 10_000, session: 5000, [by]: 3 * RESERVED } },
    });
    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), done));
    const statuses: number[] = [];
    for (let nth = 0; nth < 5; nth += 1)
      statuses.push(
        (await proxy.call(`anon-${nth}`, stream, { headers: { "cf-connecting-ip": "203.0.113.7" } })).status,
      );
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const other = await proxy.call("anon-6", stream, { headers: { "cf-connecting-ip": "198.51.100.1" } });
    expect(other.status).toBe(by === "all" ? 429 : 200);
    await proxy.close();
  });

  test("share the budget of their network of 64 bits", async () => {
    const proxy = await startAttacked({ options: { routes }, plan: { budget: { address: 2 * RESERVED } } });
    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), done));
    const call = async (address: string) =>
      (await proxy.call("ada", stream, { headers: { "cf-connecting-ip": address } })).status;
    expect(await call("2001:db8:1:2::1")).toBe(200);
    expect(await call("2001:db8:1:2:ffff::2")).toBe(200);
    expect(await call("2001:0db8:0001:0002:9::3")).toBe(429);
    expect(await call("2001:db8:1:3::1")).toBe(200);
    await proxy.close();
  });

  test("have a budget by session too, if all of them are one user", async () => {
    const proxy = await startAttacked({
      options: { routes },
      plan: { budget: { user: 3 * RESERVED, session: 2 * RESERVED } },
    });
    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), done));
    const call = async (token: string) => (await proxy.call(token, stream)).status;
    expect([await call("ada/one"), await call("ada/one"), await call("ada/one")]).toEqual([200, 200, 429]);
    expect([await call("ada/two"), await call("ada/two")]).toEqual([200, 429]);
    await proxy.close();
  });
});

describe("with resumable streams", () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({
      options: { routes },
      plan: { resumable: true, budget: { user: 1_000_000 } },
    });
  });
  afterAll(() => proxy.close());
  const call = (user: string, key: string, body: object = stream) =>
    proxy.call(user, body, { headers: { "idempotency-key": key } });

  test("five POSTs with one idempotency key are one call of the gateway, charged once (case 51)", async () => {
    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), used(100), done));
    const responses = [await call("five", "k-1")];
    for (let nth = 0; nth < 4; nth += 1) responses.push(await call("five", "k-1"));
    for (const { text } of responses) expect(text).toContain("[DONE]");
    expect(proxy.upstream.requests.length).toBe(1);
    expect(await proxy.spent("five")).toBe(100);
  });

  test("five requests at the same time are charged once too (case 51)", async () => {
    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), used(100), done));
    await Promise.all(Array.from({ length: 5 }, () => call("parallel", "k-2")));
    expect(proxy.upstream.requests.length).toBe(1);
    expect(await proxy.spent("parallel")).toBe(100);
  });

  test("a bad key, another body, a replay and too many readers cost nothing (case 50)", async () => {
    expect((await call("spender", "a bad key, \u00e9")).status).toBe(400);
    expect(await proxy.spent("spender")).toBe(0);

    proxy.upstream.respondWith(streamed(createPiece("a"), stopped(), used(30), done));
    await call("spender", "k-3");
    expect((await call("spender", "k-3", { ...stream, temperature: 0 })).status).toBe(422);
    expect((await call("spender", "k-3")).text).toContain("[DONE]");
    expect(await proxy.spent("spender")).toBe(30);

    let finish = () => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(streamHead + createPiece("one"));
      finish = () => socket.end(stopped() + used(40) + done);
    });
    const headers = { "idempotency-key": "k-4" };
    const readers = await Promise.all(
      Array.from({ length: MAX_READERS + 4 }, () => proxy.send("spender", stream, { headers })),
    );
    expect(readers.filter(({ status }) => status === 429).length).toBe(4);
    finish();
    for (const reader of readers) if (reader.status === 200) await createTextReader(reader).until("[DONE]");
    expect(await proxy.spent("spender")).toBe(70);
  });

  test("a stream that the gateway refuses releases its reservation (case 49)", async () => {
    proxy.upstream.respondWith(reply(createResponse(429, "application/json", error)));
    for (let nth = 0; nth < 3; nth += 1) await call("outage", `k-5-${nth}`);
    expect(await proxy.spent("outage")).toBe(0);
  });
});

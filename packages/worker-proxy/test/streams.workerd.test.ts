import type { ProxyOptions } from "@sluice/worker-proxy";
import { gatewayHeaders, readStreams } from "@sluice/worker-proxy";
import { afterEach, expect, test, vi } from "vitest";
import { chat, createRequest, type Env, openProxy } from "./support/in-process.js";

afterEach(() => {
  vi.useRealTimers();
});

const chunk = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const events = (body: BodyInit) => new Response(body, { headers: { "content-type": "text/event-stream" } });
const whole = () => events(chunk + finish);
/** A stream that begins and never ends. */
const endless = () =>
  events(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(chunk));
      },
    }),
  );
const broken = () =>
  events(
    new ReadableStream({
      start(controller) {
        controller.error(new Error("cut"));
      },
    }),
  );

/** A proxy that lets one user stream `max` responses at a time. A bearer token is its user's id. */
function openStreams(
  max: number,
  respond: () => Response | Promise<Response>,
  options: Partial<ProxyOptions<Env>> = {},
) {
  const opened = openProxy(
    {
      authenticate: ({ headers }) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
      limits: { maxStreamsPerUser: max },
      ...options,
    },
    () => respond(),
  );
  const request = (user: string, init = {}) =>
    createRequest({
      headers: { authorization: `Bearer ${user}` },
      body: { ...chat, stream: true },
      ...init,
    });
  return {
    ...opened,
    startStream: (user = "ann", init = {}) => opened.send(request(user, init)),
    requestStream: (user = "ann", init = {}) => opened.call(request(user, init)),
  };
}

test("one stream too many is 429 `too_many_streams`, and does not reach the gateway (case 58)", async () => {
  const { startStream, requestStream, reached, events: reported } = openStreams(2, endless);
  const responses = [await startStream(), await startStream()];
  const { status, error, headers } = await requestStream();
  expect([status, error?.["code"], headers.get("retry-after")]).toEqual([429, "too_many_streams", "1"]);
  expect(reached).toHaveLength(2);
  expect(reported).toMatchObject([{ status: 429, code: "too_many_streams", outcome: "refused" }]);
  for (const { body } of responses) await body?.cancel();
});

test("a stream that ends allows one more, beside the open streams (case 58)", async () => {
  const { startStream, events: reported } = openStreams(2, endless);
  const [first, second] = [await startStream(), await startStream()];
  await first.body?.cancel();
  await expect.poll(() => reported).toHaveLength(1);
  const others = [second, await startStream(), await startStream()];
  expect(others.map(({ status }) => status)).toEqual([200, 200, 429]);
  for (const { body } of others) await body?.cancel();
});

test("counts the streams of each user, and no other requests (case 58)", async () => {
  const { startStream, call } = openStreams(1, endless);
  const responses = [await startStream("ann"), await startStream("bob")];
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  const plain = openStreams(1, () => Response.json({ id: "1" }));
  await plain.startStream();
  const as = { headers: { authorization: "Bearer ann" } };
  expect([
    (await plain.call(createRequest(as))).status,
    (await call(createRequest({ ...as, body: "{" }))).status,
  ]).toEqual([200, 400]);
  for (const { body } of responses) await body?.cancel();
});

test.each<[name: string, respond: () => Response | Promise<Response>, options?: Partial<ProxyOptions<Env>>]>([
  ["the stream is whole", whole],
  [
    "the stream is whole, and is read",
    whole,
    {
      plugins: [
        { ...readStreams(), reserve: async () => ({ settle: async () => {}, release: async () => {} }) },
      ],
    },
  ],
  ["the stream breaks off", broken],
  ["the gateway responds with JSON", () => Response.json({ id: "1" })],
  ["the gateway refuses", () => Response.json({ error: { message: "no" } }, { status: 400 })],
  ["the gateway fails", () => new Response("", { status: 500 })],
  ["the gateway responds with a page", () => new Response("<p>")],
  ["the gateway can't be reached", () => Promise.reject(new Error("refused"))],
  [
    "the budget is used up",
    whole,
    { plugins: [{ ...readStreams(), reserve: async () => ({ retryAfterMs: 1 }) }] },
  ],
  [
    "the meter fails",
    whole,
    { plugins: [{ ...readStreams(), reserve: () => Promise.reject(new Error("down")) }] },
  ],
  ["a header can't be set", whole, { plugins: [gatewayHeaders(() => ({ host: "x" }))] }],
  ["the plugin fails", whole, { plugins: [{ routes: [], send: () => Promise.reject(new Error("down")) }] }],
])("a stream is no longer counted if %s (case 58)", async (_, respond, options) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { requestStream } = openStreams(1, respond, options);
  const first = await requestStream();
  const second = await requestStream();
  expect([second.status, second.error?.["code"]]).toEqual([first.status, first.error?.["code"]]);
  expect(second.error?.["code"]).not.toBe("too_many_streams");
  vi.restoreAllMocks();
});

test("stops counting a stream when its client disconnects, even before its start (case 58)", async () => {
  const { startStream, requestStream, events: reported } = openStreams(1, endless);
  const client = new AbortController();
  const response = await startStream("ann", { signal: client.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  expect((await requestStream()).error?.["code"]).toBe("too_many_streams");
  client.abort();
  await expect.poll(() => reported.at(-1)).toMatchObject({ status: 499, outcome: "disconnected" });
  const next = await startStream();
  expect(next.status).toBe(200);
  await next.body?.cancel();

  const silent = openStreams(1, () => new Promise<Response>(() => {}));
  for (let n = 0; n < 2; n += 1) {
    const leaving = new AbortController();
    const left = silent.requestStream("ann", { signal: leaving.signal });
    await expect.poll(() => silent.reached).toHaveLength(n + 1);
    leaving.abort();
    expect((await left).status).toBe(408);
  }
});

test("a stream whose end was never noticed counts for `timeout.totalMs` at most (case 58)", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { startStream, requestStream } = openStreams(1, endless, {
    limits: { maxStreamsPerUser: 1 },
    timeout: { totalMs: 60_000 },
  });
  const response = await startStream();
  expect((await requestStream()).status).toBe(429);
  vi.setSystemTime(Date.now() + 60_000);
  const next = await startStream();
  expect(next.status).toBe(200);
  await response.body?.cancel();
  await next.body?.cancel();
});

test("a user has at most sixteen streams by default, and with `public` none is counted (case 58)", async () => {
  const { startStream } = openStreams(1, endless, { limits: {} });
  const responses = await Promise.all(Array.from({ length: 17 }, () => startStream()));
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(1);
  const shared = openStreams(1, endless, { authenticate: "public" });
  const all = [await shared.startStream(), await shared.startStream()];
  expect(all.map(({ status }) => status)).toEqual([200, 200]);
  for (const { body } of [...responses, ...all]) await body?.cancel();
});

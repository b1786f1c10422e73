import { readStreams } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { afterEach, expect, test, vi } from "vitest";
import { expectLog } from "./support/expected-log.js";
import type { NamedOptions } from "./support/groups.js";
import { chat, createRequest, type Env, openProxy } from "./support/in-process.js";

expectLog("hold too many bytes");

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const KB = 1024;
const limits = { maxBodyBytes: 200 * KB, maxOpenBodyBytes: 300 * KB };
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const createStream = (body: BodyInit) =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });
const whole = () => createStream(finish);
/** A stream that begins and never ends. */
const endless = () =>
  createStream(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'));
      },
    }),
  );

/** Opens a proxy that holds up to 200 KB of bodies for each user, and 300 KB for all. A bearer token is its user's id. */
function openBodies(respond: () => Response | Promise<Response>, options: NamedOptions<Env> = {}) {
  const opened = openProxy(
    {
      authenticate: ({ headers }) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
      limits,
      ...options,
    },
    respond,
  );
  const createSized = (
    user: string,
    bytes: number,
    { isAnnounced = true, signal = undefined as AbortSignal | undefined } = {},
  ) => {
    const frame = JSON.stringify({ ...chat, stream: true, messages: [{ role: "user", content: "" }] }).length;
    const body = JSON.stringify({
      ...{ ...chat, stream: true },
      messages: [{ role: "user", content: "a".repeat(bytes - frame) }],
    });
    const headers = { authorization: `Bearer ${user}`, ...(isAnnounced && { "content-length": `${bytes}` }) };
    return createRequest({ headers, body, ...(signal && { signal }) });
  };
  return {
    ...opened,
    createSized,
    startRequest: (...args: Parameters<typeof createSized>) => opened.send(createSized(...args)),
    post: (...args: Parameters<typeof createSized>) => opened.call(createSized(...args)),
  };
}

test.each([true, false])(
  "the bodies of a user's open requests are bounded, announced or not: %s",
  async (isAnnounced) => {
    const { startRequest, post, reached } = openBodies(endless);
    const responses = [
      await startRequest("ann", 100 * KB, { isAnnounced }),
      await startRequest("ann", 100 * KB, { isAnnounced }),
    ];
    const { status, error, headers } = await post("ann", 1 * KB, { isAnnounced });
    expect([status, error?.["code"], headers.get("retry-after")]).toEqual([429, "too_many_bytes", "1"]);
    expect(reached).toHaveLength(2);
    for (const { body } of responses) await body?.cancel();
  },
);

test("a body that is too much is refused before it is read", async () => {
  const { startRequest, createSized, call } = openBodies(endless);
  const response = await startRequest("ann", 150 * KB);
  const request = createSized("ann", 100 * KB);
  expect((await call(request)).status).toBe(429);
  expect(request.bodyUsed).toBe(false);
  await response.body?.cancel();
});

test("another user's small request is served while one user holds all that they may", async () => {
  const { startRequest } = openBodies(endless);
  const response = await startRequest("ann", 200 * KB);
  const second = await startRequest("bob", 1 * KB);
  expect([response.status, second.status]).toEqual([200, 200]);
  for (const { body } of [response, second]) await body?.cancel();
});

test("the bodies of all users together are bounded", async () => {
  const { startRequest, post } = openBodies(endless);
  const responses = [await startRequest("ann", 200 * KB), await startRequest("bob", 99 * KB)];
  const { status, error, headers } = await post("cleo", 2 * KB);
  expect([status, error?.["code"], headers.get("retry-after")]).toEqual([503, "proxy_full", "1"]);
  for (const { body } of responses) await body?.cancel();
});

test("the largest body always fits, whatever `maxOpenBodyBytes` is", async () => {
  const { startRequest } = openBodies(endless, { limits: { ...limits, maxOpenBodyBytes: 1 } });
  const response = await startRequest("ann", 200 * KB);
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

test("callers of a public proxy share one bound", async () => {
  const { startRequest, post } = openBodies(endless, { authenticate: "public" });
  const responses = [await startRequest("ann", 150 * KB), await startRequest("ann", 150 * KB)];
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect((await post("ann", 1 * KB)).status).toBe(503);
  for (const { body } of responses) await body?.cancel();
});

const fail = () => Promise.reject(new Error("down"));
test.each<[name: string, respond: () => Response | Promise<Response>, options?: NamedOptions<Env>]>([
  ["the stream is whole", whole],
  ["the stream is whole, and is read", whole, { plugins: [readStreams()] }],
  ["the gateway responds with JSON", () => Response.json({ id: "1" })],
  ["the gateway refuses", () => Response.json({ error: { message: "no" } }, { status: 400 })],
  ["the gateway can't be reached", fail],
  ["the body is refused", whole, { models: ["gamma-chat-1-6-251015"] }],
  ["the meter fails", whole, { plugins: [{ ...readStreams(), reserve: fail }] }],
  ["the plugin fails", whole, { plugins: [definePlugin({ send: fail })] }],
])("a body is no longer counted if %s", async (_, respond, options) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { post } = openBodies(respond, options);
  const first = await post("ann", 150 * KB);
  const second = await post("ann", 150 * KB);
  expect([second.status, second.error?.["code"]]).toEqual([first.status, first.error?.["code"]]);
  expect(second.error?.["code"]).not.toBe("too_many_bytes");
});

test("a body is no longer counted after its client has left", async () => {
  const { startRequest, post } = openBodies(endless);
  const client = new AbortController();
  const response = await startRequest("ann", 150 * KB, { signal: client.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  expect((await post("ann", 100 * KB)).error?.["code"]).toBe("too_many_bytes");
  client.abort();
  const retry = async () => {
    const { status, body } = await startRequest("ann", 100 * KB);
    await body?.cancel();
    return status;
  };
  await expect.poll(retry).toBe(200);
});

test("a body that trickles in, and one that breaks off, are no longer counted after their refusal", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { call, startRequest } = openBodies(endless, { timeout: { bodyMs: 5 } });
  const bodies = [
    new ReadableStream({ pull: () => new Promise(() => {}) }),
    new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) }),
  ];
  for (const body of bodies) {
    const headers = { authorization: "Bearer ann", "content-length": `${150 * KB}` };
    expect([400, 408]).toContain((await call(createRequest({ headers, body }))).status);
  }
  const next = await startRequest("ann", 200 * KB);
  expect(next.status).toBe(200);
  await next.body?.cancel();
});

test("a body whose end was never noticed counts for `timeout.totalMs` at most", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { startRequest, post } = openBodies(endless, { timeout: { totalMs: 60_000 } });
  const response = await startRequest("ann", 200 * KB);
  expect((await post("ann", 1 * KB)).status).toBe(429);
  vi.setSystemTime(Date.now() + 60_000);
  const next = await startRequest("ann", 200 * KB);
  expect(next.status).toBe(200);
  for (const { body } of [response, next]) await body?.cancel();
});

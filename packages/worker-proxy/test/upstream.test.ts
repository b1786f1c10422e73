import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { chat, startProxy } from "./support/harness.js";
import { expectNoKey, KEY } from "./support/key.js";
import { chunk, done, finish, ok, reply, startUpstream } from "./support/upstream.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  // with `chunkMs` the proxy reads the streams; even a slow machine does not take a minute
  proxy = await startProxy({ options: { limits: { maxBodyBytes: 1000 }, timeout: { chunkMs: 60_000 } } });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

/** A proxy of the test's own that gives up after these times. */
async function impatient(timeout: { readonly firstChunkMs?: number; readonly chunkMs?: number }) {
  const own = await startProxy({ options: { timeout } });
  onTestFinished(() => own.close());
  return own;
}

const json = { "content-type": "application/json" };
const streamed = { ...chat, stream: true };
const createError = (fields: object) => JSON.stringify({ error: fields });

test("a whole stream passes unchanged, and gives one event", async () => {
  const events = chunk("a") + finish + done;
  proxy.upstream.respondWith(reply(200, { "content-type": "text/event-stream; charset=utf-8" }, events));
  const { status, text } = await proxy.call(streamed);
  expect([status, text]).toEqual([200, events]);
  expect(await proxy.events(1)).toEqual([
    {
      type: "request",
      requestId: expect.stringMatching(/^[\w-]{36}$/),
      route: "chat",
      userId: "user-1",
      model: "delta-5.3",
      method: "POST",
      status: 200,
      outcome: "complete",
      upstreamStatus: 200,
      firstByteMs: expect.any(Number),
      bytes: events.length,
      durationMs: expect.any(Number),
    },
  ]);
});

test.each([401, 402, 403])(
  "a %i of the gateway is the operator's fault: 502 without its text (case 37)",
  async (status) => {
    proxy.upstream.respondWith(
      reply(status, json, createError({ message: `Incorrect API key: ${KEY}`, code: "invalid_api_key" })),
    );
    const response = await proxy.call();
    expect([response.status, response.error?.["code"]]).toEqual([502, "upstream_auth"]);
    expect(response.text).not.toMatch(/Incorrect|invalid_api_key/);
    expect(await proxy.events(1)).toMatchObject([{ status: 502, code: "upstream_auth" }]);
  },
);

test.each([301, 302, 303, 307, 308])("a %i is not followed, elsewhere or here (case 38)", async (status) => {
  const elsewhere = await startUpstream();
  for (const location of [`${elsewhere.url}/v1/chat/completions`, "/v1/models"]) {
    proxy.upstream.respondWith(reply(status, { location }));
    const response = await proxy.call();
    expect([response.status, response.error?.["code"]]).toEqual([502, "upstream_redirect"]);
    expect(response.headers.get("location")).toBeNull();
    expect(proxy.upstream.requests).toHaveLength(1);
  }
  expect(elsewhere.requests).toEqual([]);
  elsewhere.close();
});

test("a gateway that is silent before its headers gives 504, and its connection is closed (case 39)", async () => {
  const own = await impatient({ firstChunkMs: 200 });
  own.upstream.respondWith(() => {});
  const { status, error } = await own.call();
  expect([status, error?.["code"]]).toEqual([504, "upstream_timeout"]);
  expect(await own.upstream.requests[0]?.hungUp).toBe("hung up");
});

/** The stream up to the error event, and that event. */
function splitError(text: string) {
  const [before = "", event = "", ...rest] = text.split("event: error\n");
  expect(rest).toEqual([]);
  expect(text).not.toContain("[DONE]");
  const [, data = ""] = /^data: (.*)\n\n$/.exec(event) ?? [];
  return { before, error: JSON.parse(data).error as Record<string, string> };
}

test("a gateway that is silent in mid-stream gives an error event, and its connection is closed (case 39)", async () => {
  const own = await impatient({ chunkMs: 200 });
  own.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk("a"));
  });
  const { status, text } = await own.call(streamed);
  const { before, error } = splitError(text);
  expect(status).toBe(200);
  expect(before.trimEnd()).toBe(chunk("a").trimEnd());
  expect(error).toEqual({ message: expect.any(String), type: "proxy_error", code: "upstream_idle" });
  expect(await own.upstream.requests[0]?.hungUp).toBe("hung up");
  expect(await own.events(1)).toMatchObject([{ status: 200, code: "upstream_idle" }]);
});

test("a connection that breaks within an event gives an error event, without the broken line (case 40)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`${chunk("a")}data: {"choices":[{"del`, () => response.destroy());
  });
  const { before, error } = splitError((await proxy.call(streamed)).text);
  expect(before.trimEnd()).toBe(chunk("a").trimEnd());
  expect(error["code"]).toBe("upstream_cut");
});

test("a stream that ends without saying so gives an error event (case 40)", async () => {
  const quoted = chunk('\\"finish_reason\\": \\"stop\\" and data: [DONE]');
  proxy.upstream.respondWith(reply(200, { "content-type": "text/event-stream" }, quoted));
  const { text } = await proxy.call(streamed);
  expect(text).toContain("event: error\n");
  expect(text).toContain("upstream_cut");
});

test("a stream that ends with its finish_reason, and usage behind it, is whole without [DONE]", async () => {
  const events = `${finish}data: {"choices":[],"usage":{"total_tokens":3,"x":"${"y".repeat(5000)}"}}\n\n`;
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(events.slice(0, 40), () => response.write(events.slice(40), () => response.end()));
  });
  expect((await proxy.call(streamed)).text).toBe(events);
});

test("a JSON response that breaks off is no success", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, json);
    response.write('{"id":', () => response.destroy());
  });
  const { status, error } = await proxy.call();
  expect([status, error?.["code"]]).toEqual([502, "upstream_cut"]);
  expect(await proxy.events(1)).toMatchObject([{ code: "upstream_cut" }]);
});

test("a client that leaves before the headers, through a service binding, ends the proxy's request too (case 41)", async () => {
  proxy.upstream.respondWith(() => {});
  expect(await (await proxy.sendAndLeave(chat)).text()).toBe("left");
  expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
});

test("a client that leaves in mid-stream ends the gateway's connection, and gives one event with 499 (case 41)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk("a"));
    const more = setInterval(() => response.write(chunk("b")), 20);
    response.on("close", () => clearInterval(more));
  });
  const controller = new AbortController();
  const response = await proxy.send(streamed, { signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
  expect(await proxy.events(1)).toMatchObject([{ status: 499, code: "client_left", userId: "user-1" }]);
});

test("the gateway's 429 passes, with Retry-After and as the gateway's (case 44)", async () => {
  const error = { message: "slow down", type: "rate_limit_error", code: "rate_limited" };
  proxy.upstream.respondWith(
    reply(429, { ...json, "retry-after": "7", "x-request-id": "r1" }, createError(error)),
  );
  const response = await proxy.call();
  expect(response.status).toBe(429);
  expect(response.error).toEqual(error);
  expect(response.headers.get("retry-after")).toBe("7");
  expect(response.headers.get("x-request-id")).toBe("r1");
  expect(response.headers.get("x-sluice-source")).toBe("upstream");
});

describe("the gateway's errors get the proxy's shape (case 44)", () => {
  test.each([
    ["a 500 page that quotes the key", 500, "text/html", `<h1>${KEY}</h1>`, 502, "upstream_error"],
    ["a 503 in JSON", 503, "application/json", createError({ message: "overloaded" }), 502, "upstream_error"],
    [
      "a 400 with code and message alone",
      400,
      "application/json",
      createError({ message: "no", code: "bad" }),
      400,
      "bad",
    ],
    ["a 404 page", 404, "text/html", "<h1>nothing</h1>", 404, "upstream_type"],
    ["a 404 without a body", 404, "text/plain", "", 404, "upstream_type"],
    ["a 404 in words", 404, "application/json", '"404 page not found"', 404, "upstream_type"],
    ["a 404 in another shape", 404, "application/json", '{"message":"no task"}', 404, "upstream_refused"],
    ["a 400 page", 400, "text/html", "<h1>no</h1>", 400, "upstream_refused"],
    [
      "a 400 that quotes the key",
      400,
      "application/json",
      createError({ message: `of ${KEY}` }),
      400,
      "upstream_refused",
    ],
    [
      "a 400 whose code is the key",
      400,
      "application/json",
      createError({ code: KEY }),
      400,
      "upstream_refused",
    ],
    ["a 422 in another shape", 422, "application/json", '{"detail":[1]}', 422, "upstream_refused"],
    ["a 400 of null", 400, "application/json", "null", 400, "upstream_refused"],
  ])("%s", async (_, sent, type, text, status, code) => {
    proxy.upstream.respondWith(reply(sent, { "content-type": type }, text));
    const response = await proxy.call();
    expect(response.status).toBe(status);
    expect(response.error).toEqual({ message: expect.any(String), type: expect.any(String), code });
    expect(response.text).not.toContain("<h1>");
  });
});

test("a refusal whose body never ends stays a refusal at once (case 63)", async () => {
  const own = await impatient({ chunkMs: 200 });
  own.upstream.respondWith((response) => {
    response.writeHead(400, json).write('{"error":');
    // each byte arrives well within `chunkMs`, so only the time for the whole body ends it
    const more = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(more));
  });
  const { status, error } = await own.call();
  expect([status, error?.["code"]]).toEqual([400, "upstream_refused"]);
  expect(await own.upstream.requests[0]?.hungUp).toBe("hung up");
});

test("a refusal of many megabytes is cut off (case 63)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(400, json);
    const more = () => {
      while (response.write("x".repeat(100_000))) {}
    };
    response.on("drain", more);
    more();
  });
  const { status, error } = await proxy.call();
  expect([status, error?.["code"]]).toEqual([400, "upstream_refused"]);
  expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
});

test("a refusal whose connection breaks stays a refusal (case 63)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(422, json).write('{"error":', () => response.destroy());
  });
  expect((await proxy.call()).status).toBe(422);
});

test.each([
  ["a page", "<html><body>welcome</body></html>"],
  ["JSON that was cut", '{"id":"1","choices":[{"mess'],
  ["nothing", ""],
])("%s that calls itself JSON is no success (case 61)", async (_, text) => {
  proxy.upstream.respondWith(reply(200, json, text));
  const { status, error } = await proxy.call();
  expect([status, error?.["code"]]).toEqual([502, "upstream_type"]);
});

test("a body over the limit without a content-length is refused, and not read to its end (case 21)", async () => {
  const piece = `3e8\r\n${"x".repeat(1000)}\r\n`;
  const { status, text } = await proxy.raw(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${proxy.url.host}\r\nConnection: close\r\n` +
      `Authorization: Bearer user-token\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${piece}${piece}`,
  );
  expect([status, text]).toEqual([413, expect.stringContaining("body_too_large")]);
  expectNoKey(text);
  expect(proxy.upstream.requests).toEqual([]);
});

test("a body up to the limit passes (case 21)", async () => {
  proxy.upstream.respondWith(ok);
  const body = JSON.stringify({ ...chat, stop: "" });
  const full = JSON.stringify({ ...chat, stop: "x".repeat(1000 - body.length) });
  expect(full).toHaveLength(1000);
  expect((await proxy.call(full)).status).toBe(200);
  expect((await proxy.call(`${full} `)).status).toBe(413);
});

test("a gateway that closes the connection after the request may have done the work: no client is advised to repeat it", async () => {
  proxy.upstream.respondWith((response) => response.destroy());
  const { status, error, headers } = await proxy.call();
  expect([status, error?.["code"], headers.get("retry-after")]).toEqual([502, "upstream_cut", null]);
  expect(proxy.upstream.requests).toHaveLength(1);
});

test("a refused connection is no certainty in workerd: it throws the error of a connection that broke off", async () => {
  const closed = await startProxy();
  closed.upstream.close();
  const { status, error, headers } = await closed.call();
  expect([status, error?.["code"], headers.get("retry-after")]).toEqual([502, "upstream_cut", null]);
  await closed.close();
});

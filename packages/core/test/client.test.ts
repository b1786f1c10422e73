import {
  type Client,
  type ClientEvent,
  completeChat,
  createClient,
  isGatewayError,
  streamChat,
} from "@sluice/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  frame,
  openBody,
  question,
  stoppedClock,
  streamResponse,
} from "./support/gateway.js";

const key = "sk-live-0123456789abcdef";
/** A key in a browser: no visitor opens the page of these tests. */
const withKey = { apiKey: key, dangerouslyAllowBrowser: true };

const completion = {
  id: "c-1",
  object: "chat.completion",
  created: 1,
  model: "delta-5.3",
  choices: [
    {
      index: 0,
      message: { role: "assistant", reasoning_content: "Hm.", content: "Blue light scatters." },
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 3,
    completion_tokens: 5,
    total_tokens: 8,
    completion_tokens_details: { reasoning_tokens: 1 },
  },
};
const json = (body: unknown, init?: ResponseInit) => Response.json(body, init);
const createRefusal = (status: number, headers?: HeadersInit) =>
  json({ error: { message: `refused with ${status}`, code: "x" } }, { status, ...(headers && { headers }) });

describe("createClient", () => {
  test.each([
    ["https://gateway.test", "https://gateway.test/v1/chat/completions"],
    ["https://gateway.test/", "https://gateway.test/v1/chat/completions"],
    ["https://gateway.test/v1", "https://gateway.test/v1/chat/completions"],
    ["https://gateway.test/v1/", "https://gateway.test/v1/chat/completions"],
    ["https://gateway.test/api/v1", "https://gateway.test/api/v1/chat/completions"],
    ["https://gateway.test/v1/v1/", "https://gateway.test/v1/chat/completions"],
  ])("accepts %s as a base URL", async (baseURL, url) => {
    const { client, requests } = createTestClient(() => json(completion), { baseURL });
    await completeChat(client, question);
    expect(requests[0]?.url).toBe(url);
  });

  test.each(["/", "/api"])(
    "reports that the base URL %s is relative if a request is sent outside a page",
    async (baseURL) => {
      const { client, requests } = createTestClient(() => json(completion), { baseURL });
      expect(await catchError(completeChat(client, question))).toMatchObject({
        name: "ConfigurationError",
        message: expect.stringContaining(`baseURL: ${baseURL} is relative`),
      });
      expect(requests).toEqual([]);
    },
  );

  test("is named by a function that is called without a client", async () => {
    expect(await catchError(completeChat({} as Client, question))).toMatchObject({
      name: "ConfigurationError",
      message: expect.stringContaining("made by createClient()"),
    });
  });

  test.each([
    ["", /baseURL: is missing/],
    ["gateway", /baseURL: "gateway" is not a URL/],
    ["ftp://gateway.test", /ftp:/],
    ["https://me:secret@gateway.test", /name or password/],
    ["https://gateway.test?key=1", /query/],
  ])("refuses %j as a base URL, and shows a valid one", (baseURL, message) => {
    expect(() => createClient({ baseURL })).toThrow(message);
    expect(() => createClient({ baseURL })).toThrow(/gateway's address/);
  });

  test.each([
    ["", /is empty/],
    ["Bearer sk-1", /give the key alone/],
    ["sk-1\n", /line break/],
  ])("refuses %j as a key, without repeating it", (apiKey, message) => {
    expect(() =>
      createClient({ baseURL: "https://gateway.test", apiKey, dangerouslyAllowBrowser: true }),
    ).toThrow(message);
  });

  test("accepts a key on a server", () => {
    expect(() => createClient({ baseURL: "https://gateway.test", apiKey: key })).not.toThrow();
  });

  test("refuses an invalid time limit, and prints the valid values of an option", async () => {
    const printed = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    expect(() => createClient({ baseURL: "https://gateway.test", timeout: { chunkMs: -1 } })).toThrow(
      /timeout.chunkMs/,
    );
    expect(() => createClient({ baseURL: "https://gateway.test", retry: { limit: Number.NaN } })).toThrow(
      /retry.limit/,
    );
    const lines = () => printed.mock.calls.flat().join();
    await expect
      .poll(lines)
      .toMatch(/createClient\.timeout: can't be used.*createClient\.retry: can't be used/s);
  });

  test("returns a frozen client without the key in any field", async () => {
    const { client } = createTestClient(() => json(completion), withKey);
    await completeChat(client, question);
    expect(Object.isFrozen(client)).toBe(true);
    expect(JSON.stringify(client)).not.toContain(key);
    expect(Object.values(client).map(String).join()).not.toContain(key);
  });
});

describe("signing", () => {
  test("sends the key as the bearer once, and the request's headers win over the client's", async () => {
    const { client, requests } = createTestClient(() => json(completion), {
      ...withKey,
      headers: { "x-app": "1", "x-user": "a" },
    });
    await completeChat(client, question, { headers: { "x-user": "b" } });
    const { headers } = requests[0] as Request;
    expect(headers.get("authorization")).toBe(`Bearer ${key}`);
    expect([headers.get("x-app"), headers.get("x-user")]).toEqual(["1", "b"]);
  });

  test("calls a key function for each request", async () => {
    let turn = 0;
    const { client, requests } = createTestClient(() => json(completion), {
      ...withKey,
      apiKey: async () => `key-${++turn}`,
    });
    await completeChat(client, question);
    await completeChat(client, question);
    expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer key-1",
      "Bearer key-2",
    ]);
  });

  test("redacts the key in a response that contains it", async () => {
    const { client } = createTestClient(
      () => json({ error: { message: `bad key ${key}` } }, { status: 401 }),
      withKey,
    );
    const error = (await catchError(completeChat(client, question))) as Error & { body: string };
    expect(error.message).toBe("bad key [redacted]");
    expect(`${error.body}${JSON.stringify(error)}${error.stack}`).not.toContain(key);
  });

  test("does not redact a key of one letter", async () => {
    const { client } = createTestClient(() => json(completion), { ...withKey, apiKey: "l" });
    expect((await completeChat(client, question)).message.content).toBe("Blue light scatters.");
  });

  test("follows no redirect, so that the key reaches no other address", async () => {
    const { client, requests } = createTestClient(
      () => new Response(null, { status: 307, headers: { location: "https://evil.test/" } }),
      withKey,
    );
    const error = await catchError(completeChat(client, question));
    expect(error).toMatchObject({ name: "APIError", status: 307 });
    expect((error as Error).message).toMatch(/^HTTP 307: .*redirects.*baseURL/);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.redirect).toBe("manual");
  });

  test("names a redirect whose status a browser hides", async () => {
    const hidden = () =>
      Object.defineProperties(new Response(), {
        type: { value: "opaqueredirect" },
        status: { value: 0 },
        ok: { value: false },
      });
    const error = await catchError(completeChat(createTestClient(hidden, withKey).client, question));
    expect((error as Error).message).toMatch(/^HTTP redirect: /);
  });

  test("leaves the cache of a request with a body unchanged", async () => {
    const { client, requests } = createTestClient(() => json(completion), withKey);
    await completeChat(client, question);
    expect(requests[0]?.cache).toBe(new Request("https://gateway.example.com").cache);
  });
});

describe("retry", () => {
  const soon = { "retry-after": "0" };

  test.each([408, 429, 500, 502, 503, 529])(
    "repeats a request refused with %i, twice at most",
    async (status) => {
      const { client, requests } = createTestClient((_, nth) =>
        nth < 3 ? createRefusal(status, soon) : json(completion),
      );
      expect((await completeChat(client, question)).message.content).toBe("Blue light scatters.");
      expect(requests).toHaveLength(3);

      const never = createTestClient(() => createRefusal(status, soon));
      expect(await catchError(streamChat(never.client, question).result())).toMatchObject({
        status,
        message: `refused with ${status}`,
      });
      expect(never.requests).toHaveLength(3);
    },
  );

  test.each([400, 401, 403, 404, 422])("does not repeat a request refused with %i", async (status) => {
    const { client, requests } = createTestClient(() => createRefusal(status, soon));
    expect(await catchError(completeChat(client, question))).toMatchObject({
      name: "APIError",
      status,
      code: "x",
    });
    expect(requests).toHaveLength(1);
  });

  test("sends the same body and a new signature each time", async () => {
    const { client, requests } = createTestClient(
      (_, nth) => (nth < 2 ? createRefusal(429, soon) : json(completion)),
      withKey,
    );
    await completeChat(client, question);
    const bodies = await Promise.all(requests.map((request) => request.text()));
    expect(bodies[1]).toBe(bodies[0]);
    expect(requests[1]?.headers.get("authorization")).toBe(`Bearer ${key}`);
  });

  test("repeats after a failed connection, and reports it if it keeps failing", async () => {
    const dead = createTestClient(
      () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })),
      { retry: { limit: 1, maxRetryAfterMs: 1 } },
    );
    const error = await catchError(completeChat(dead.client, question));
    expect(error).toMatchObject({ name: "ConnectionError", billing: "none" });
    expect((error as Error).cause).toBeInstanceOf(TypeError);
    expect(dead.requests).toHaveLength(2);
  });

  test("reports that it may be billed if the connection broke after sending", async () => {
    const reset = createTestClient(
      () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })),
      { retry: { limit: 0 } },
    );
    expect(await catchError(completeChat(reset.client, question))).toMatchObject({ billing: "maybe" });
  });

  test("does not wait for a Retry-After beyond maxRetryAfterMs, and the error has the wait", async () => {
    const { client, requests } = createTestClient(() => createRefusal(429, { "retry-after": "3600" }));
    expect(await catchError(completeChat(client, question))).toMatchObject({
      status: 429,
      retryAfterMs: 3_600_000,
    });
    expect(requests).toHaveLength(1);
  });

  /** A clock that grants short waits at once and the long ones, limits, never; `waits` has the short ones. */
  function createWillingClock() {
    const waits: number[] = [];
    const sleep = (ms: number) => {
      if (ms > 2000) return new Promise<void>(() => {});
      waits.push(ms);
      return Promise.resolve();
    };
    return { now: () => 0, sleep, waits };
  }

  test("waits on the client's clock for the time of Retry-After", async () => {
    const clock = createWillingClock();
    const { client, requests } = createTestClient(
      (_, nth) => (nth < 3 ? createRefusal(429, { "retry-after": "1" }) : json(completion)),
      { clock },
    );
    const waits: (number | undefined)[] = [];
    const { setTimeout: start } = globalThis;
    vi.stubGlobal("setTimeout", (act: () => void, ms?: number) => {
      // storages that other files of this worker have left ill are tried again and again
      if (ms && !new Error().stack?.includes("/storage/")) waits.push(ms);
      return start(act, ms);
    });
    expect((await completeChat(client, question)).outcome).toBe("complete");
    vi.unstubAllGlobals();
    expect(clock.waits).toEqual([1000, 1000]);
    expect(requests).toHaveLength(3);
    expect(waits).toEqual([]);
  });

  test.each([
    [0.5, [250, 500]],
    [0.999, [499.5, 999]],
  ])("doubles the wait each time, with full jitter: a draw of %d", async (draw, delays) => {
    const clock = createWillingClock();
    const events: ClientEvent[] = [];
    const { client } = createTestClient(() => createRefusal(503), {
      clock,
      random: () => draw,
      onEvent: (event) => events.push(event),
    });
    expect(await catchError(completeChat(client, question))).toMatchObject({ status: 503 });
    expect(clock.waits).toEqual(delays);
    expect(events.flatMap((event) => (event.type === "retry" ? [event.delayMs] : []))).toEqual(delays);
  });

  test("never waits longer than maxRetryAfterMs", async () => {
    const { client } = createTestClient((_, nth) => (nth < 3 ? createRefusal(503) : json(completion)), {
      retry: { maxRetryAfterMs: 0 },
      clock: stoppedClock(),
    });
    expect((await completeChat(client, question)).outcome).toBe("complete");
  });

  test("reads Retry-After as seconds, with a fraction, or as a date, and ignores other values", async () => {
    const retryAfterMs = async (value: string) => {
      const { client } = createTestClient(() => createRefusal(429, { "retry-after": value }), {
        retry: { limit: 0 },
      });
      return ((await catchError(completeChat(client, question))) as { retryAfterMs?: number }).retryAfterMs;
    };
    expect(await retryAfterMs("0.5")).toBe(500);
    expect(await retryAfterMs("Wed, 21 Oct 2015 07:28:00 GMT")).toBe(0);
    expect(await retryAfterMs("Wed, 21 Oct 2037 07:28:00 GMT")).toBeGreaterThan(1e9);
    expect(await retryAfterMs("600")).toBe(600_000);
    for (const value of ["0", "-5"]) expect(await retryAfterMs(value)).toBe(0);
    expect(await retryAfterMs("soon")).toBeUndefined();
    expect(await retryAfterMs("1000000000000")).toBeGreaterThan(1e9);
  });

  test("never repeats a stream that has begun", async () => {
    const { client, requests } = createTestClient(() => streamResponse(frame({ content: "Hel" })));
    expect(await catchError(streamChat(client, question).result())).toMatchObject({ reason: "truncated" });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["a clock that stands still", stoppedClock()],
    ["the platform's clock", undefined],
  ])("stops waiting when the caller aborts, on %s", async (_, clock) => {
    const controller = new AbortController();
    const { client } = createTestClient(() => createRefusal(429, { "retry-after": "20" }), {
      clock,
      onEvent: ({ type }) => type === "retry" && queueMicrotask(() => controller.abort()),
    });
    expect(await catchError(completeChat(client, question, { signal: controller.signal }))).toMatchObject({
      name: "AbortError",
    });
  });
});

describe("completeChat", () => {
  test("returns the whole response", async () => {
    const { client, requests } = createTestClient(() =>
      json(completion, { headers: { "x-request-id": "r-1" } }),
    );
    const turn = await completeChat(client, question);
    expect(turn).toMatchObject({
      message: { role: "assistant", reasoning_content: "Hm.", content: "Blue light scatters." },
      finishReason: "stop",
      outcome: "complete",
      usage: completion.usage,
      raw: completion,
    });
    expect(await requests[0]?.json()).toEqual(question);
  });

  test("reads a response that begins with a byte order mark", async () => {
    const { client } = createTestClient(() => new Response(`\uFEFF${JSON.stringify(completion)}`));
    expect(await completeChat(client, question)).toMatchObject({ outcome: "complete" });
  });

  test.each([
    ["choices", { ...completion, choices: [] }],
    ["choices.0.message", { ...completion, choices: [{ index: 0, finish_reason: "stop" }] }],
    [
      "choices.0.message.content",
      { ...completion, choices: [{ message: { content: 7 }, finish_reason: "stop" }] },
    ],
    ["choices.0.finish_reason", { ...completion, choices: [{ message: { content: "" }, finish_reason: 1 }] }],
    ["usage.total_tokens", { ...completion, usage: { prompt_tokens: 1, completion_tokens: 1 } }],
  ])("names the field at which a response does not fit: %s", async (path, body) => {
    const { client } = createTestClient(() => json(body));
    expect(await catchError(completeChat(client, question))).toMatchObject({ name: "ResponseError", path });
  });

  test("refuses a request with `stream: true`, as streamChat refuses `stream: false`", async () => {
    const { client, requests } = createTestClient(() => json(completion));
    expect(await catchError(completeChat(client, { ...question, stream: true }))).toMatchObject({
      issues: [{ path: "stream", rule: "chat.stream" }],
    });
    expect(await catchError(streamChat(client, { ...question, stream: false }).result())).toMatchObject({
      name: "ValidationError",
    });
    expect(requests).toHaveLength(0);
  });

  test("reads at most 32 MB of a response, and closes the connection", async () => {
    const connection = openBody();
    const { client } = createTestClient(() => new Response(connection.body));
    const error = catchError(completeChat(client, question));
    connection.send('{"choices":"');
    for (let part = 0; part < 8; part += 1) {
      await connection.wanted();
      connection.send("x".repeat(4 * 1024 * 1024));
    }
    expect(await error).toMatchObject({
      name: "ResponseError",
      billing: "maybe",
      message: "the response is longer than 32 MB",
      body: expect.stringMatching(/^.{8192}…$/),
    });
    expect(connection.cancelled).toBe(true);
  });

  test("aborts within the body and before a response", async () => {
    const middle = new AbortController();
    const connection = openBody();
    const { client } = createTestClient(() => new Response(connection.body));
    const cut = catchError(completeChat(client, question, { signal: middle.signal }));
    await connection.wanted();
    connection.send('{"choices":');
    await connection.wanted();
    middle.abort();
    expect(await cut).toMatchObject({ name: "AbortError" });
    expect(connection.cancelled).toBe(true);

    const before = new AbortController();
    const silent = createTestClient(() => {
      before.abort();
      return new Promise<never>(() => {});
    });
    const error = await catchError(completeChat(silent.client, question, { signal: before.signal }));
    expect(error).toMatchObject({ name: "AbortError" });
  });

  test("aborts with the caller's signal even if the body ignores it", async () => {
    const controller = new AbortController();
    const { client } = createTestClient(
      () => new Response(new ReadableStream({ start: () => controller.abort() })),
    );
    expect(await catchError(completeChat(client, question, { signal: controller.signal }))).toMatchObject({
      name: "AbortError",
    });
  });
});

test("does not send a request that breaks a rule", async () => {
  const { client, requests } = createTestClient(() => json(completion));
  const error = await catchError(completeChat(client, { ...question, max_tokens: 0 }));
  expect(isGatewayError(error) && error.name === "ValidationError" && error.issues).toEqual([
    {
      path: "max_tokens",
      message: "must be a whole number from 1 to 131072, got 0",
      rule: "chat.delta.max-tokens",
    },
  ]);
  expect(requests).toHaveLength(0);
});

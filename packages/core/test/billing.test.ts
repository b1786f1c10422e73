import { type Client, type ClientEvent, completeChat, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { creates } from "./support/creates.js";
import { catchError, createTestClient, openBody, question, stoppedClock } from "./support/gateway.js";

/** Creates a promise and the function that resolves it. */
function createSignal() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve: () => resolve() };
}

const createRefusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: `refused with ${status}` } }, { status, headers });
const soon = { "retry-after": "0" };

/** Creates a test client that also lists the outcomes of its calls. */
function createClientWithEnds(
  respond: Parameters<typeof createTestClient>[0],
  options: Parameters<typeof createTestClient>[1] = {},
) {
  const ended: string[] = [];
  const onEvent = (event: ClientEvent) => event.type === "end" && ended.push(event.outcome);
  return { ...createTestClient(respond, { ...options, onEvent }), ended };
}

const unreachable = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }));

describe.each([
  ["completeChat", (client: Client) => completeChat(client, question)],
  ["streamChat", (client: Client) => streamChat(client, question).result()],
])("%s, which may bill", (_, call) => {
  test.each([
    [500, "maybe"],
    [408, "maybe"],
    [429, "none"],
    [400, "none"],
  ])("reports the billing of its attempts after a %i: %s", async (status, billing) => {
    const { client } = createTestClient(() => createRefusal(status, soon));
    expect(await catchError(call(client))).toMatchObject({ name: "APIError", status, billing });
  });

  test("is sent three times if the connection keeps failing, and once without retries", async () => {
    const reset = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
    for (const [limit, posts] of [
      [2, 3],
      [0, 1],
    ] as const) {
      const { client, requests } = createTestClient(reset, { retry: { limit, maxRetryAfterMs: 0 } });
      expect(await catchError(call(client))).toMatchObject({ name: "ConnectionError", billing: "maybe" });
      expect(requests).toHaveLength(posts);
    }
  });

  test.each([
    ["could not connect", unreachable],
    ["was refused", () => createRefusal(429, soon)],
  ])("may be billed after a 502, even if its last attempt %s", async (_, last) => {
    const { client } = createTestClient((_, nth) => (nth === 1 ? createRefusal(502, soon) : last()), {
      retry: { maxRetryAfterMs: 0 },
    });
    expect(await catchError(call(client))).toMatchObject({ billing: "maybe" });
  });

  test.each([
    ["none", "error", [() => createRefusal(429, soon), unreachable]],
    ["none", "error", [unreachable, () => createRefusal(429, soon)]],
    ["none", "error", [() => createRefusal(429, soon), () => createRefusal(429, soon), unreachable]],
    ["maybe", "error", [() => createRefusal(502, soon), () => createRefusal(429, soon), unreachable]],
    ["none", "not-sent", [unreachable, unreachable]],
  ] as const)(
    "is billed %s by all of its attempts, and ends as %s: case %#",
    async (billing, outcome, attempts) => {
      const retry = { limit: attempts.length - 1, maxRetryAfterMs: 0 };
      const { client, ended } = createClientWithEnds((_, nth) => (attempts[nth - 1] ?? unreachable)(), {
        retry,
      });
      expect(await catchError(call(client))).toMatchObject({ billing });
      expect(ended).toEqual([outcome]);
    },
  );

  test("may be billed if its response breaks, and is not billed if a rule is broken", async () => {
    const cut = createTestClient(() => new Response('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n'));
    expect(await catchError(call(cut.client))).toMatchObject({ billing: "maybe" });
    const { client } = createTestClient(() => createRefusal(500));
    const wrong = { ...question, max_tokens: 0 };
    for (const failed of [completeChat(client, wrong), streamChat(client, wrong).result()])
      expect(await catchError(failed)).toMatchObject({ name: "ValidationError", billing: "none" });
  });
});

describe.each(creates)("%s, which bills", (_, create, body) => {
  test("is repeated after a 429, twice at most", async () => {
    const { client, requests } = createTestClient((_, nth) =>
      nth < 3 ? createRefusal(429, soon) : Response.json(body),
    );
    await create(client);
    const bodies = await Promise.all(requests.map((request) => request.text()));
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies).size).toBe(1);

    const never = createTestClient(() => createRefusal(429, soon));
    expect(await catchError(create(never.client))).toMatchObject({ status: 429, billing: "none" });
    expect(never.requests).toHaveLength(3);
  });

  test("counts as refused, not unsent, if an attempt after a 429 cannot connect", async () => {
    const { client, ended } = createClientWithEnds((_, nth) =>
      nth === 1 ? createRefusal(429, soon) : unreachable(),
    );
    expect(await catchError(create(client))).toMatchObject({
      name: "ConnectionError",
      billing: "none",
      message: expect.stringContaining("last attempt: could not connect"),
    });
    expect(ended).toEqual(["error"]);
  });

  test.each([
    [500, "maybe"],
    [502, "maybe"],
    [503, "maybe"],
    [408, "maybe"],
    [400, "none"],
    [401, "none"],
    [403, "none"],
    [404, "none"],
  ])("is sent once if the response is %i, with the billing %s", async (status, billing) => {
    const { client, requests } = createTestClient(() => createRefusal(status, soon));
    expect(await catchError(create(client))).toMatchObject({ name: "APIError", status, billing });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["ECONNRESET", "maybe"],
    ["ECONNREFUSED", "none"],
    ["ENOTFOUND", "none"],
    ["bad port", "none"],
  ])("is sent once if the connection fails with %s, with the billing %s", async (code, billing) => {
    const clock = stoppedClock();
    const { client, requests } = createTestClient(
      () => Promise.reject(new TypeError("fetch failed", { cause: { code, message: code } })),
      { clock },
    );
    const failed = catchError(create(client));
    expect(await clock.advanceUntil(failed, 1000)).toMatchObject({ name: "ConnectionError", billing });
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test.each([
    ["a port that fetch blocks", { message: "bad port" }],
    ["a certificate that is not trusted", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }],
    ["a certificate of another host", { code: "ERR_TLS_CERT_ALTNAME_INVALID" }],
  ])("is not sent to %s, and says so", async (_, cause) => {
    const { client } = createTestClient(() => Promise.reject(new TypeError("fetch failed", { cause })), {
      retry: { limit: 0 },
    });
    expect(await catchError(create(client))).toMatchObject({
      name: "ConnectionError",
      billing: "none",
      message: expect.stringContaining("the request was not sent"),
    });
  });

  test("is not sent by a fetch that does not accept a Request, and the error names the wrapper", async () => {
    for (const words of ["url must be a string", "Invalid URL: [object Request]"]) {
      const { client, requests } = createTestClient(() => Promise.reject(new TypeError(words)));
      expect(await catchError(create(client))).toMatchObject({
        name: "ConfigurationError",
        billing: "none",
        message: expect.stringContaining("request.url"),
      });
      expect(requests).toHaveLength(1);
    }
  });

  test("may be billed if the response breaks or is not JSON", async () => {
    const body = openBody();
    body.send('{"id":');
    body.drop();
    const broken = createTestClient(() => new Response(body.body));
    expect(await catchError(create(broken.client))).toMatchObject({
      name: "ConnectionError",
      billing: "maybe",
    });
    const page = createTestClient(() => new Response("<title>Login</title>"));
    expect(await catchError(create(page.client))).toMatchObject({ name: "APIError", billing: "maybe" });
    expect([...broken.requests, ...page.requests]).toHaveLength(2);
  });

  test("may be billed after a timeout of the headers, of the body, and in total", async () => {
    for (const [timeout, phase, hasHeaders] of [
      [{ firstChunkMs: 1000 }, "first-chunk", false],
      [{ totalMs: 1000 }, "total", false],
      [{ chunkMs: 1000 }, "chunk", true],
      [{ totalMs: 1000 }, "total", true],
    ] as const) {
      const clock = stoppedClock();
      const arrived = createSignal();
      const responseBody = openBody();
      const { client, requests } = createTestClient(
        () => {
          arrived.resolve();
          return hasHeaders ? new Response(responseBody.body) : new Promise<Response>(() => {});
        },
        { clock },
      );
      const failed = catchError(create(client, { timeout }));
      await (hasHeaders ? responseBody.wanted() : arrived.promise);
      await clock.advance(5000);
      expect(await failed).toMatchObject({ name: "TimeoutError", phase, billing: "maybe" });
      expect(requests).toHaveLength(1);
    }
  });

  test("is not billed if headers() does not resolve within the time limit", async () => {
    const clock = stoppedClock();
    const requested = createSignal();
    const { client, requests } = createTestClient(() => Response.json(body), {
      clock,
      headers: () => {
        requested.resolve();
        return new Promise<HeadersInit>(() => {});
      },
    });
    const failed = catchError(create(client, { timeout: { totalMs: 1000 } }));
    await requested.promise;
    await clock.advance(5000);
    expect(await failed).toMatchObject({ name: "TimeoutError", phase: "total", billing: "none" });
    expect(requests).toHaveLength(0);
  });

  test("is not billed if the time limit ends during the wait after a 429", async () => {
    const clock = stoppedClock();
    const waiting = createSignal();
    const { client, requests } = createTestClient(() => createRefusal(429, { "retry-after": "20" }), {
      clock,
      onEvent: ({ type }) => type === "retry" && waiting.resolve(),
    });
    const failed = catchError(create(client, { timeout: { totalMs: 1000 } }));
    await waiting.promise;
    await clock.advance(5000);
    expect(await failed).toMatchObject({ name: "TimeoutError", phase: "total", billing: "none" });
    expect(requests).toHaveLength(1);
  });

  test("keeps the platform's AbortError if the caller aborts", async () => {
    const controller = new AbortController();
    const { client } = createTestClient(() => {
      controller.abort();
      return new Promise<Response>(() => {});
    });
    expect(await catchError(create(client, { signal: controller.signal }))).toBe(controller.signal.reason);
  });
});

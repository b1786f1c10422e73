import { gatewayHeaders, type ProxyOptions, readStreams, workersRateLimit } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chat, createRequest, type Env, openProxy } from "./support/in-process.js";
import { SECRET } from "./support/sign.js";

let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** A gateway that responds with this status. */
const createFailure = (status: number, headers: Record<string, string> = {}) =>
  new Response('{"error":{"message":"down"}}', {
    status,
    headers: { "content-type": "application/json", ...headers },
  });

describe("the log of an outage (case 134)", () => {
  test("has one line for forty equal ones, then their number, and each request has its event", async () => {
    const { call, events } = openProxy({}, () => createFailure(500));
    for (let times = 0; times < 40; times += 1) await call(createRequest());
    expect(lines).toEqual([
      expect.stringMatching(/502 upstream_error, request [\w-]+: the gateway failed with 500/),
    ]);
    pass(60_000);
    await call(createRequest());
    expect(lines.slice(1)).toEqual([
      "sluice proxy: 502 upstream_error: 39 more in the 60 s before",
      expect.stringMatching(/502 upstream_error, request [\w-]+: /),
    ]);
    expect(events.filter(({ code }) => code === "upstream_error")).toHaveLength(41);
  });

  test("has the number also where the outage is over, at the next refusal of any kind", async () => {
    let isDown = true;
    const { call } = openProxy({}, () => (isDown ? createFailure(503) : Response.json({ choices: [] })));
    for (let times = 0; times < 3; times += 1) await call(createRequest());
    isDown = false;
    pass(90_000);
    await call(createRequest());
    await call(createRequest({ path: "/nothing/here" }));
    expect(lines.slice(1)).toEqual(["sluice proxy: 502 upstream_error: 2 more in the 90 s before"]);
  });

  test("has each different cause, and of a thousand different ones of one code at most twenty", async () => {
    const causes = ["GATEWAY_A", "GATEWAY_B"];
    const { call } = openProxy({
      plugins: [
        gatewayHeaders(() => {
          throw new Error(causes[0]);
        }),
      ],
    });
    await call(createRequest());
    causes.shift();
    await call(createRequest());
    expect(lines.map((line) => /GATEWAY_[AB]/.exec(line)?.[0])).toEqual(["GATEWAY_A", "GATEWAY_B"]);
    let times = 0;
    const many = openProxy({
      plugins: [
        gatewayHeaders(() => {
          times += 1;
          throw new Error(`cause ${times}`);
        }),
      ],
    });
    lines = [];
    for (let requests = 0; requests < 1000; requests += 1) await many.call(createRequest());
    expect(lines).toHaveLength(21);
  });
});

describe("the `retry-after` of a failure (case 135)", () => {
  const SHORT = /^[123]$/;
  const gone = (): Response => {
    throw Object.assign(new Error("connect failed"), { code: "ECONNREFUSED" });
  };

  test.each<[string, () => Response]>([
    ["the gateway can't be reached", gone],
    ["the gateway fails with 500", () => createFailure(500)],
    ["the gateway fails with 503", () => createFailure(503)],
  ])("is 1 to 3 seconds where %s: nothing was billed", async (_, respond) => {
    const { status, headers } = await openProxy({}, respond).call(createRequest());
    expect([status, headers.get("retry-after")]).toEqual([502, expect.stringMatching(SHORT)]);
  });

  test.each<[string, Partial<ProxyOptions<Env>>]>([
    ["authenticate", { authenticate: gone as never }],
    ["rateLimit", { rateLimit: gone as never }],
    ["plugins", { plugins: [{ ...readStreams(), reserve: gone as never }] }],
  ])("is 1 to 3 seconds where %s fails", async (_, options) => {
    const { status, headers } = await openProxy(options).call(createRequest());
    expect([status, headers.get("retry-after")]).toEqual([503, expect.stringMatching(SHORT)]);
  });

  test("is the gateway's own where it has one", async () => {
    const { headers } = await openProxy({}, () => createFailure(503, { "retry-after": "17" })).call(
      createRequest(),
    );
    expect(headers.get("retry-after")).toBe("17");
  });

  test.each<[string, () => Response]>([
    ["the response may be paid", () => createFailure(504)],
    [
      "the response broke off",
      () => new Response('{"choices":', { headers: { "content-type": "application/json" } }),
    ],
    ["the key is refused", () => createFailure(401)],
    [
      "the server is not a gateway",
      () => new Response("<h1>hello</h1>", { headers: { "content-type": "text/html" } }),
    ],
  ])("is absent where %s", async (_, respond) => {
    const { status, headers } = await openProxy({}, respond).call(createRequest());
    expect([status, headers.get("retry-after")]).toEqual([502, null]);
  });
});

describe("a 429 says which limit was reached, in the response or the event (case 136):", () => {
  const nothingLeft = { limit: async () => ({ success: false }) };
  const limited = workersRateLimit<Env>(() => nothingLeft, { polls: () => nothingLeft });

  test("requests", async () => {
    const { call, events } = openProxy({ rateLimit: limited });
    expect((await call(createRequest())).error?.["message"]).toContain("too many requests");
    expect(events).toMatchObject([{ status: 429, code: "rate_limited", limit: "requests" }]);
  });

  test("polls", async () => {
    const { call, events } = openProxy({ rateLimit: limited, routes: ["videos"], secret: () => SECRET });
    const { error } = await call(createRequest({ method: "GET", path: "/v1/video/generations/t-1" }));
    expect(error?.["message"]).toContain("too many polls");
    expect(events).toMatchObject([{ status: 429, code: "rate_limited", limit: "polls" }]);
  });

  test("one of the operator's own", async () => {
    const { call, events } = openProxy({
      rateLimit: () => ({ retryAfterMs: 1000, limit: "images of today" }),
    });
    expect((await call(createRequest())).error?.["message"]).toContain("too many images of today");
    expect(events).toMatchObject([{ limit: "images of today" }]);
  });

  test("streams", async () => {
    const stream = () =>
      new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
    const { send, call, events } = openProxy({ limits: { maxStreamsPerUser: 1 } }, stream);
    const body = { ...chat, stream: true };
    const controller = new AbortController();
    void send(createRequest({ body, signal: controller.signal }));
    await expect.poll(async () => (await call(createRequest({ body }))).status).toBe(429);
    controller.abort();
    expect(events.find(({ status }) => status === 429)).toMatchObject({
      code: "too_many_streams",
      limit: "maxStreamsPerUser",
    });
  });
});

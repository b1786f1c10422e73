import { type RateLimit, readStreams, workersRateLimit } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, type Env, openProxy } from "./support/in-process.js";
import { SECRET, signId } from "./support/sign.js";

expectLog("500 misconfigured", "503 rate_limit_unavailable");

type RateLimited = Parameters<RateLimit>[0];
type Options = NonNullable<Parameters<typeof workersRateLimit<Env>>[1]>;

/** Creates a binding that accepts `max` requests of one key during the test. */
function createBinding(max: number) {
  const counts = new Map<string, number>();
  return {
    counts,
    async limit({ key }: { key: string }) {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return { success: count <= max };
    },
  };
}

/** Opens a proxy with videos and such a binding. A bearer token is its user's id. */
function openLimited(max: number, options: Options = {}) {
  const binding = createBinding(max);
  const opened = openProxy({
    routes: ["chat", "videos"],
    secret: () => SECRET,
    authenticate: ({ headers }) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
    rateLimit: workersRateLimit<Env>(() => binding, options),
  });
  const as = (user: string) => ({ authorization: `Bearer ${user}` });
  return {
    ...opened,
    counts: binding.counts,
    chat: (user: string) => opened.call(createRequest({ headers: as(user) })),
    poll: (user: string) =>
      opened.call(
        createRequest({
          method: "GET",
          path: `/v1/video/generations/${signId("t", "task", user)}`,
          headers: as(user),
        }),
      ),
  };
}

test("one request too many gets 429 with Retry-After and is not sent (case 35)", async () => {
  const { chat, reached, events } = openLimited(2);
  expect([(await chat("ann")).status, (await chat("ann")).status]).toEqual([200, 200]);
  const { status, error, headers } = await chat("ann");
  expect([status, error?.["code"], error?.["type"]]).toEqual([429, "rate_limited", "rate_limit_error"]);
  expect([headers.get("retry-after"), headers.get("x-sluice-source")]).toEqual(["60", "proxy"]);
  expect(reached).toHaveLength(2);
  expect(events.at(-1)).toMatchObject({ status: 429, code: "rate_limited", userId: "ann", route: "chat" });
});

test("each user has a count of their own (case 35)", async () => {
  const { chat } = openLimited(1);
  expect((await chat("ann")).status).toBe(200);
  expect((await chat("bob")).status).toBe(200);
  expect((await chat("ann")).status).toBe(429);
});

test("polls do not count as requests that cost (case 57)", async () => {
  const { poll, chat, counts } = openLimited(1);
  for (let n = 0; n < 3; n += 1) expect((await poll("ann")).status).toBe(200);
  expect(counts.size).toBe(0);
  expect((await chat("ann")).status).toBe(200);
});

test("polls have a bucket of their own (case 57)", async () => {
  const polls = createBinding(2);
  const { poll, chat, counts } = openLimited(1, { polls: () => polls, periodSeconds: 10 });
  expect((await chat("ann")).status).toBe(200);
  expect([(await poll("ann")).status, (await poll("ann")).status]).toEqual([200, 200]);
  const { status, headers } = await poll("ann");
  expect([status, headers.get("retry-after")]).toEqual([429, "10"]);
  expect([(await poll("bob")).status, (await chat("ann")).status]).toEqual([200, 429]);
  expect([counts.get("ann"), polls.counts.get("ann")]).toEqual([2, 3]);
});

test("several users can share one limit (case 35)", async () => {
  const { chat, counts } = openLimited(1, {
    by: ({ route, request }) => `${route}${new URL(request.url).host}`,
  });
  expect([(await chat("ann")).status, (await chat("bob")).status]).toEqual([200, 429]);
  expect([...counts]).toEqual([["chatproxy.example", 2]]);
});

test("a request without a user or a path is not counted (case 35)", async () => {
  const { counts, call } = openLimited(1);
  expect((await call(createRequest({ headers: { authorization: "Bearer " } }))).status).not.toBe(200);
  expect((await call(createRequest({ path: "/v1/models" }))).status).toBe(404);
  expect(
    (await call(createRequest({ method: "OPTIONS", headers: { origin: "https://app.example" } }))).status,
  ).toBe(204);
  expect(counts.size).toBe(0);
});

describe("a custom rate limiter", () => {
  test("gets the user and the route, and returns milliseconds to wait", async () => {
    const calls: RateLimited[] = [];
    const rateLimit = (limited: RateLimited, { KEY }: Env) => {
      calls.push(limited);
      expect(KEY).toMatch(/^sk-/);
      return { retryAfterMs: 1200 };
    };
    const { call, reached } = openProxy({ rateLimit });
    const { status, headers } = await call(createRequest());
    expect([status, headers.get("retry-after"), reached.length]).toEqual([429, "2", 0]);
    expect(calls).toEqual([
      { user: { id: "user-1" }, route: "chat", method: "POST", isPoll: false, request: expect.any(Request) },
    ]);
  });

  test("A limiter that returns no time gives at least a second", async () => {
    const { call } = openProxy({ rateLimit: () => ({ retryAfterMs: 0 }) });
    expect((await call(createRequest())).headers.get("retry-after")).toBe("1");
  });

  test("A limiter that returns anything else refuses too", async () => {
    const { call } = openProxy({ rateLimit: () => ({ success: false }) as never });
    const { status, headers } = await call(createRequest());
    expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("at 10.0.0.1: refused");
      },
    ],
    ["rejects", () => Promise.reject(new Error("at 10.0.0.1: refused"))],
  ] as [string, () => never][])(
    "refuses all with 503 if it %s, and its error stays in the log (case 33)",
    async (_, rateLimit) => {
      const { call, reached, events } = openProxy({ rateLimit });
      const { status, error, text } = await call(createRequest());
      expect([status, error?.["code"], reached.length]).toEqual([503, "rate_limit_unavailable", 0]);
      expect(text + JSON.stringify(events)).not.toContain("10.0.0.1");
    },
  );
});

test("only one of 50 requests at once reaches the gateway with a budget for one (case 35)", async () => {
  let remaining = 1;
  const { call, reached } = openProxy({
    plugins: [
      {
        ...readStreams(),
        async reserve() {
          if (remaining < 1) return { retryAfterMs: 30_000 };
          remaining -= 1;
          return { settle: async () => {}, release: async () => {} };
        },
      },
    ],
  });
  const responses = await Promise.all(Array.from({ length: 50 }, () => call(createRequest())));
  const refused = responses.filter(({ status }) => status === 429);
  expect([refused.length, reached.length]).toEqual([49, 1]);
  for (const { error, headers } of refused)
    expect([error?.["code"], headers.get("retry-after")]).toEqual(["budget_exhausted", "30"]);
});

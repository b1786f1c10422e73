import { env } from "cloudflare:workers";
import { budget } from "@sluice/durable";
import { createProxy, type ProxyContext, type ProxyOptions } from "@sluice/worker-proxy";
import { afterEach, describe, expect, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../worker-proxy/test/support/key.js";

expectLog(
  "the proxy's operator sets `routes`",
  "503 budget_unavailable",
  "502 upstream_unreachable",
  "502 upstream_type",
  "502 upstream_error",
  "nobody settled",
);

type Env = typeof env;
const HOUR = 60 * 60 * 1000;
let tests = 0;

afterEach(() => {
  tests += 1;
});

/** A proxy with a budget, whose gateway is this function. */
function openProxy(answer: () => Response | Promise<Response>, options: Partial<ProxyOptions<Env>> = {}) {
  const waiting: Promise<unknown>[] = [];
  const context: ProxyContext = { waitUntil: (promise) => void waiting.push(promise) };
  const meter = budget<Env>({
    namespace: ({ BUDGET }) => BUDGET,
    limits: { user: 1000, address: 1500, all: 1_000_000 },
    windowMs: HOUR,
    reserveFor: () => 100,
  });
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: `${headers.get("authorization")}-${tests}` }),
    origins: [],
    models: ["delta-5.3"],
    fetch: async () => answer(),
    plugins: [meter],
    ...options,
  });
  const ask = async (path: string, user: string, init: RequestInit = {}) => {
    const headers = { authorization: user, "cf-connecting-ip": `192.0.2.${tests}`, ...json };
    const response = await proxy.fetch(
      new Request(`https://proxy.example${path}`, { ...init, headers }),
      env,
      context,
    );
    return read(response);
  };
  return {
    meter,
    chat: (user = "ann") => ask("/v1/chat/completions", user, { method: "POST", body: JSON.stringify(chat) }),
    budgets: async (user = "ann") => {
      await Promise.all(waiting);
      const { text, ...answer } = await ask("/v1/budget", user);
      return { ...answer, body: JSON.parse(text) as object };
    },
  };
}
const json = { "content-type": "application/json" };
const fine = () => Response.json({ choices: [], usage: { total_tokens: 30 } });

describe("GET /v1/budget", () => {
  test("has the user's own budgets, and no others", async () => {
    const { chat, budgets } = openProxy(fine);
    await chat("ann");
    await chat("bob");
    await chat("bob");
    const { status, body } = await budgets("ann");
    expect(status).toBe(200);
    expect(body).toEqual({
      budgets: [
        {
          by: "user",
          unit: "tokens",
          limit: 1000,
          spent: 30,
          reserved: 0,
          remaining: 970,
          resetsAt: expect.any(Number),
        },
      ],
    });
  });

  test("is 404 without the plugin, and 401 without a user", async () => {
    expect((await openProxy(fine, { plugins: [] }).budgets()).status).toBe(404);
    expect((await openProxy(fine, { authenticate: () => null }).budgets()).status).toBe(401);
  });

  test("is refused by createProxy where two plugins reserve, or nothing reads the usage", () => {
    const meter = { reserve: async () => ({ retryAfterMs: 1 }) };
    expect(() => openProxy(fine, { plugins: [meter] })).toThrow("plugins: one reserves; add readStreams()");
    expect(() => openProxy(fine, { plugins: [meter, meter] })).toThrow("plugins: two of them reserve");
  });

  test("is 503 where the ledger fails", async () => {
    const gone = {
      idFromName: () => "",
      get: () => ({ fetch: () => Promise.reject(new Error("of 10.0.0.1")) }),
    };
    const meter = budget<Env>({
      namespace: () => gone,
      limits: { user: 5 },
      windowMs: HOUR,
      reserveFor: () => 1,
    });
    const { status, error } = await openProxy(fine, { plugins: [meter] }).budgets();
    expect([status, error?.["code"]]).toEqual([503, "budget_unavailable"]);
  });
});

test("case 49: after an hour of outage every budget is what it was", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1, tests) });
  const page = { headers: { "content-type": "text/html" } };
  const failure = 'event: error\ndata: {"error":{"message":"overloaded"}}\n\n';
  const outages = [
    () => Promise.reject(new Error("Network connection lost.")),
    () => new Response("<h1>Down</h1>", page),
    () => new Response("<h1>Down</h1>", { ...page, status: 521 }),
    () => new Response(failure, { headers: { "content-type": "text/event-stream" } }),
  ];
  const { chat, budgets, meter } = openProxy(() => outages[Math.floor(count / 2) % 4]?.() ?? fine());
  let count = 0;
  // more than a budget could pay: twelve tries of each user, at 100
  for (; count < 24; count += 1) {
    vi.setSystemTime(Date.now() + 149_000);
    expect([200, 502]).toContain((await chat(count % 2 ? "ann" : "bob")).status);
  }
  for (const user of ["ann", "bob"])
    expect((await budgets(user)).body).toMatchObject({
      budgets: [{ spent: 0, reserved: 0, remaining: 1000 }],
    });
  const user = { id: "", address: `192.0.2.${tests}` };
  expect(await meter.ledger("address", { env, user }).read()).toMatchObject({ spent: 0, reserved: 0 });
  vi.useRealTimers();
});

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Budget, type BudgetOptions, budget, inMoney } from "@sluice/durable";
import { definePrices } from "@sluice/prices";
import { createProxy, type Payable, type ProxyContext } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KEY, read } from "../../worker-proxy/test/support/key.js";
import { workerdTest } from "./support/platform.js";
import { countedState } from "./support/rows.js";

type Env = typeof env;
const HOUR = 60 * 60 * 1000;
/** Ten minutes into a window. */
const START = Date.UTC(2040, 0, 1, 0, 10);
/** Imaginary prices. */
const prices = definePrices({
  currency: "coins",
  models: {
    "delta-5.3": { input: 1, output: 4 },
    "gamma-image-4-0-250828": { image: { "1024x1024": 0.02, "4096x4096": 0.08 } },
    "beta3.0-video": { second: { "720P": 0.05, "1080P": 0.1 } },
  },
});
let tests = 0;
let lines: string[] = [];

beforeEach(() => {
  tests += 1;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A meter of one coin for each user and hour. */
function openMeter(options: Partial<BudgetOptions<Env>> = {}) {
  const meter = budget<Env>({
    namespace: ({ BUDGET }) => BUDGET,
    limits: { user: 1_000_000 },
    windowMs: HOUR,
    prices: inMoney(prices),
    ...options,
  });
  const user = { id: `money-${tests}` };
  const reserve = (body: Record<string, unknown>, route: Payable["route"] = "chat") =>
    meter.reserve({ env, context: undefined, user, route, body, model: String(body["model"]) });
  return {
    meter,
    reserve,
    async paid(...asked: Parameters<typeof reserve>) {
      const given = await reserve(...asked);
      if (!("settle" in given)) throw new Error("nothing is left");
      return given;
    },
    state: () => meter.ledger("user", { env, user }).read(),
  };
}

async function ledger(name: string) {
  return env.BUDGET.get(env.BUDGET.idFromName(await hashOf(name)));
}

const question = { model: "delta-5.3", messages: [], max_tokens: 1000 };
/** 43 bytes of a question, and 1,000 tokens of an answer; in millionths. */
const MOST = new TextEncoder().encode(JSON.stringify(question)).length + 4000;
const film = { model: "beta3.0-video", parameters: { duration: 8, resolution: "720P" } };
const usage = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };

describe("a budget in money", () => {
  test("reserves the most that a chat can cost, and spends its usage", async () => {
    const { paid, state } = openMeter();
    const given = await paid(question);
    expect(await state()).toMatchObject({ reserved: MOST, spent: 0, unit: "millionths", currency: "coins" });
    expect(given).toMatchObject({ amount: MOST });
    expect(given.costOf?.(usage)).toBe(410);
    await given.settle(usage);
    expect(await state()).toMatchObject({ reserved: 0, spent: 410, remaining: 999_590 });
  });

  test("reserves for each of `n` answers, and a request once", async () => {
    const { paid } = openMeter();
    const { amount = 0 } = await paid({ ...question, n: 3 });
    expect(amount).toBe(MOST + new TextEncoder().encode(',"n":3').length + 2 * 4000);
  });

  test("spends images by their number and size", async () => {
    const { paid, state } = openMeter();
    const image = { model: "gamma-image-4-0-250828", prompt: "A reef", size: "4096x4096" };
    const sequence = {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 4 },
    };
    const given = await paid({ ...image, ...sequence }, "images");
    expect(await state()).toMatchObject({ reserved: 320_000 });
    await given.settle({ generated_images: 3, output_tokens: 9, total_tokens: 9 });
    expect(await state()).toMatchObject({ spent: 240_000 });
  });

  test("spends a film in full, because its answer has no usage", async () => {
    const { paid, state, reserve } = openMeter();
    await (await paid(film, "videos")).settle(undefined);
    expect(await state()).toMatchObject({ spent: 400_000, remaining: 600_000 });
    await (await paid(film, "videos")).release();
    await (await paid(film, "videos")).settle(undefined);
    expect(await reserve(film, "videos")).toMatchObject({ budget: "user", retryAfterMs: 50 * 60 * 1000 });
  });

  test("spends all that was reserved where the usage tells no cost", async () => {
    const { paid, state } = openMeter();
    for (const odd of [
      {},
      { prompt_tokens: null, completion_tokens: 5 },
      { prompt_tokens: -1, completion_tokens: "5" },
    ])
      await (await paid(question)).settle(odd);
    expect(await state()).toMatchObject({ reserved: 0, spent: 3 * MOST });
  });

  test("refuses a request whose cost the prices can't bound, and names its model", async () => {
    const { reserve, state } = openMeter();
    await expect(reserve({ ...question, model: "new-1" })).rejects.toThrow("tell no bound for new-1");
    await expect(
      reserve({ ...film, parameters: { duration: 8, resolution: "4K" } }, "videos"),
    ).rejects.toThrow();
    const image = { model: "gamma-image-4-0-250828", size: "4096x4096", sequential_image_generation: "auto" };
    await expect(reserve(image, "images")).rejects.toThrow("reserveFor");
    expect(await state()).toMatchObject({ reserved: 0, spent: 0 });
  });

  test("asks `reserveFor` where the prices can't tell", async () => {
    const { paid, state } = openMeter({ reserveFor: ({ route }) => (route === "media" ? 7 : 500) });
    expect(await paid({ bytes: 1 }, "media")).toMatchObject({ amount: 7 });
    const given = await paid({ ...question, model: "new-1", n: 2 });
    expect(given).toMatchObject({ amount: 1000 });
    await given.settle(usage);
    expect(await paid(question)).toMatchObject({ amount: MOST });
    expect(await state()).toMatchObject({ spent: 1000 });
  });

  test("rounds each amount up to a whole millionth", async () => {
    const cheap = definePrices({ currency: "coins", models: { "delta-5.3": { input: 0.1, output: 0.3 } } });
    const { paid, state } = openMeter({ prices: inMoney(cheap) });
    await (await paid(question)).settle({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
    expect(await state()).toMatchObject({ spent: 1 });
  });

  test("A hundred films at once can't spend more than there is", async () => {
    const { reserve, state } = openMeter();
    const given = await Promise.all(Array.from({ length: 100 }, () => reserve(film, "videos")));
    expect(given.filter((one) => "settle" in one)).toHaveLength(2);
    expect(await state()).toMatchObject({ reserved: 800_000, remaining: 200_000 });
  });

  test("a settlement that comes twice counts once", async () => {
    const { paid, state, meter } = openMeter();
    const given = await paid(question);
    await given.settle(usage);
    await given.settle(usage);
    await meter.settleTicket?.(given.ticket ?? "", undefined, env);
    expect(await state()).toMatchObject({ reserved: 0, spent: 410 });
  });

  test("what nobody settles is spent in full when its time is over", async () => {
    const { paid, state } = openMeter({ holdMs: 60_000 });
    await paid(film, "videos");
    vi.setSystemTime(START + 60_000);
    await runDurableObjectAlarm((await ledger(`coins user\nmoney-${tests}`)) as never);
    expect(await state()).toMatchObject({ reserved: 0, spent: 400_000 });
  });

  test("money is never added to tokens, nor to another currency", async () => {
    const tokens = openMeter({ prices: undefined, reserveFor: () => 900_000 });
    const held = await tokens.paid(question);
    const { paid, state, meter } = openMeter();
    await paid(film, "videos");
    expect(await state()).toMatchObject({ unit: "millionths", reserved: 400_000 });
    // a ticket from before the change settles what it reserved
    await meter.settleTicket?.(held.ticket ?? "", 30, env);
    expect(await tokens.state()).toMatchObject({ unit: "tokens", reserved: 0, spent: 30 });
    expect(await state()).toMatchObject({ reserved: 400_000, spent: 0 });
    const shells = openMeter({ prices: inMoney({ ...prices, currency: "shells" }) });
    expect(await shells.state()).toMatchObject({ currency: "shells", reserved: 0, spent: 0 });
  });

  workerdTest("a request reads and writes the same few rows beside 100,000 open ones", async () => {
    const object = env.BUDGET.get(env.BUDGET.idFromName(`money rows ${tests}`));
    const rows = await runInDurableObject(object, async (_, state) => {
      const { state: counted, rows } = countedState(state);
      const ledger = new Budget(counted);
      const namespace = { idFromName: () => "", get: () => ({ fetch: ledger.fetch }) };
      const { paid } = openMeter({ namespace: () => namespace, limits: { user: 1e12 } });
      await paid(question);
      state.storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
          INSERT INTO reservations SELECT 'open-' || i, ?1, 1, ?2 + i FROM n`,
        START - (START % HOUR) + HOUR,
        START + HOUR,
      );
      Object.assign(rows, { read: 0, written: 0 });
      await (await paid(question)).settle(usage);
      return rows;
    });
    expect(rows.read).toBeLessThanOrEqual(25);
    expect(rows.written).toBeLessThanOrEqual(8);
    expect(rows.written).toBeGreaterThan(0);
  });
});

describe("a proxy with a budget in money", () => {
  const asked = { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }], max_tokens: 1000 };

  function openProxy(answer: () => Response | Promise<Response>) {
    const waiting: Promise<unknown>[] = [];
    const context: ProxyContext = { waitUntil: (promise) => void waiting.push(promise) };
    const { meter } = openMeter();
    const sent: Request[] = [];
    const proxy = createProxy<Env>({
      baseURL: "https://gateway.example",
      apiKey: () => KEY,
      authenticate: () => ({ id: `money-${tests}` }),
      origins: [],
      models: ["delta-5.3", "alpha-v4.1-flash"],
      fetch: async (request: Request) => {
        sent.push(request);
        return answer();
      },
      plugins: [meter],
    });
    const ask = async (path: string, body?: object) => {
      const init = body && { method: "POST", body: JSON.stringify(body) };
      const headers = { "content-type": "application/json" };
      const request = new Request(`https://proxy.example${path}`, { ...init, headers });
      const answered = await read(await proxy.fetch(request, env, context));
      await Promise.all(waiting);
      return answered;
    };
    return { sent, chat: (body: object = asked) => ask("/v1/chat/completions", body), ask };
  }

  test("tells users the unit of what is left", async () => {
    const { chat, ask } = openProxy(() => Response.json({ choices: [], usage }));
    await chat();
    expect(JSON.parse((await ask("/v1/budget")).text)).toMatchObject({
      budgets: [
        { by: "user", unit: "millionths", currency: "coins", limit: 1_000_000, spent: 410, reserved: 0 },
      ],
    });
  });

  test("sends nothing that it has no price for, and says so in the log", async () => {
    const { chat, sent } = openProxy(() => Response.json({ choices: [], usage }));
    const { status, text } = await chat({ ...asked, model: "alpha-v4.1-flash" });
    expect(status).toBe(503);
    expect(text).toContain("budget_unavailable");
    expect(sent).toHaveLength(0);
    expect(lines.join()).toContain("tell no bound for alpha-v4.1-flash");
  });

  test.each([
    ["400", 0, () => Response.json({ error: { message: "no" } }, { status: 400 })],
    ["404", 0, () => Response.json({ error: { message: "no" } }, { status: 404 })],
    [
      "429 with a Retry-After of a day",
      0,
      () => new Response("{}", { status: 429, headers: { "retry-after": "86400" } }),
    ],
    ["a page", 0, () => new Response("<h1>Hi</h1>", { headers: { "content-type": "text/html" } })],
    ["a cut", "all", () => Response.json({ choices: [] })],
    [
      "an absurd usage",
      "ten times",
      () => Response.json({ choices: [], usage: { prompt_tokens: 1e12, completion_tokens: 1 } }),
    ],
  ])("after %s the budget is settled once: %s is spent", async (_name, spent, answer) => {
    const { chat, ask } = openProxy(answer);
    await chat();
    const { budgets } = JSON.parse((await ask("/v1/budget")).text) as {
      budgets: { spent: number; reserved: number }[];
    };
    const most = new TextEncoder().encode(JSON.stringify(asked)).length + 4000;
    expect(budgets[0]).toMatchObject({
      reserved: 0,
      spent: spent === "all" ? most : spent === "ten times" ? 10 * most : spent,
    });
  });
});

describe("options", () => {
  test("a table with a wrong price is refused when the Worker starts, and the field named", () => {
    const table = { currency: "EUR", models: { "m-1": { input: -1, output: 1 } } };
    expect(() => inMoney(table)).toThrow("models.m-1.input");
  });

  test("a budget needs prices or `reserveFor`", () => {
    expect(() => openMeter({ prices: undefined })).toThrow("reserveFor: give it");
  });
});

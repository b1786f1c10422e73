import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type BudgetBy, type BudgetOptions, budget } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";

expectLog("nobody settled");

const HOUR = 60 * 60 * 1000;
/** Ten minutes into a window. */
const START = Date.UTC(2040, 0, 1, 0, 10);
let tests = 0;

beforeEach(() => {
  tests += 1;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => void vi.useRealTimers());

/** A meter of 100 for each hour, where requests cost at most 10 unless their body says `most`. */
function openMeter(options: Partial<BudgetOptions<Env>> = {}) {
  const meter = budget<Env>({
    namespace: ({ BUDGET }) => BUDGET,
    limits: { user: 100 },
    windowMs: HOUR,
    reserveFor: ({ body }) => Number(body?.most ?? 10),
    ...options,
  });
  /** Another user in each test, at another address. */
  const userOf = (id = "user", more: object = {}) => ({ id: `${id}-${tests}`, address: `${tests}`, ...more });
  const reserve = (most?: number, userId?: string, more: object = {}, n?: unknown) =>
    meter.reserve({
      env,
      context: undefined,
      user: userOf(userId, more),
      route: "chat",
      ...(most !== undefined && { body: { most, n } }),
    });
  const ledger = (by: BudgetBy = "user", userId?: string, more: object = {}) =>
    meter.ledger(by, { env, user: userOf(userId, more) });
  return {
    reserve,
    ledger,
    /** Answer that the user gets. */
    read: (more: object = {}) => meter.read({ env, user: userOf("user", more) }),
    /** Reserves what there has to be. */
    async paid(...asked: Parameters<typeof reserve>) {
      const given = await reserve(...asked);
      if (!("settle" in given)) throw new Error("nothing is left");
      return given;
    },
    /** Amount that is left. */
    left: async (...which: Parameters<typeof ledger>) => (await ledger(...which).read()).remaining,
  };
}
type Env = typeof env;

async function ledger() {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`user\nuser-${tests}`));
  const name = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return env.BUDGET.get(env.BUDGET.idFromName(name));
}

describe("a budget", () => {
  test("A budget with money for one of fifty requests at once lets one pass", async () => {
    const { reserve } = openMeter({ limits: { user: 10 } });
    const given = await Promise.all(Array.from({ length: 50 }, () => reserve(10)));
    expect(given.filter((one) => "settle" in one)).toHaveLength(1);
  });

  test("has the time until the window ends", async () => {
    const { reserve, paid } = openMeter();
    await paid(100);
    expect(await reserve(1)).toMatchObject({ retryAfterMs: 50 * 60 * 1000 });
    vi.setSystemTime(START + 50 * 60 * 1000 - 1);
    expect(await reserve(1)).toMatchObject({ retryAfterMs: 1 });
    vi.setSystemTime(START + 50 * 60 * 1000);
    expect(await reserve(100)).toHaveProperty("settle");
  });

  test("is each user's own", async () => {
    const { paid, reserve } = openMeter();
    await paid(100);
    expect(await reserve(100, "another")).toHaveProperty("settle");
  });

  test("gives back what a request did not cost", async () => {
    const { paid, left } = openMeter();
    await (await paid(60)).settle({ total_tokens: 12 });
    expect(await left()).toBe(88);
  });

  test("counts fractions in full", async () => {
    const { paid, left } = openMeter();
    await (await paid(10.2)).settle({ total_tokens: 10.1 });
    expect(await left()).toBe(89);
    await paid(0.1);
    expect(await left()).toBe(88);
  });

  test("can be passed by a request that costs more than was set aside, and then lets nothing pass", async () => {
    const { paid, reserve } = openMeter();
    await (await paid(100)).settle({ total_tokens: 130 });
    expect(await reserve(0)).toHaveProperty("retryAfterMs");
  });

  test("spends nothing for a request that was released", async () => {
    const { paid, left } = openMeter();
    await (await paid(60)).release();
    expect(await left()).toBe(100);
  });

  test.each([
    ["nobody tells what it was", undefined],
    ["the cost is no number", { total_tokens: "many" }],
    ["the cost is not there", {}],
    ["the cost is null (case 62)", { total_tokens: null }],
    ["the cost is zero", { total_tokens: 0 }],
    ["the cost is less than nothing", { total_tokens: -5 }],
  ])("spends all that was set aside where %s", async (_, usage) => {
    const { paid, left } = openMeter();
    await (await paid(60)).settle(usage);
    expect(await left()).toBe(40);
  });

  test("spends all that was set aside where the cost can't be worked out", async () => {
    const { paid, left } = openMeter({
      cost: () => {
        throw new Error("no price");
      },
    });
    await (await paid(60)).settle({ total_tokens: 1 });
    expect(await left()).toBe(40);
  });

  test("settles once", async () => {
    const { paid, left } = openMeter();
    const one = await paid(60);
    await one.settle({ total_tokens: 20 });
    await one.settle({ total_tokens: 20 });
    await one.release();
    expect(await left()).toBe(80);
  });

  test("may depend on the user", async () => {
    const { reserve } = openMeter({
      limits: { user: ({ user }) => (user.id.startsWith("rich") ? 1000 : 5) },
    });
    expect(await reserve(10, "poor")).toHaveProperty("retryAfterMs");
    expect(await reserve(900, "rich")).toHaveProperty("settle");
  });
});

test("case 53: a request for n answers reserves n times as much", async () => {
  const { paid, left, reserve } = openMeter();
  await paid(10, "user", {}, 4);
  expect(await left()).toBe(60);
  await paid(10, "user", {}, "3");
  expect(await left()).toBe(30);
  expect(await reserve(10, "user", {}, 4)).toHaveProperty("retryAfterMs");
  await expect(reserve(10, "user", {}, "1e400")).rejects.toThrow("reserveFor");
  for (const n of [0, -5, null, "many"]) await (await paid(10, "user", {}, n)).release();
  expect(await left()).toBe(30);
});

test("case 62: a price by parts of the usage gets no null either", async () => {
  const cost = ({ prompt_tokens, completion_tokens }: Record<string, unknown>) =>
    Number(prompt_tokens) + 3 * Number(completion_tokens);
  const { paid, left } = openMeter({ cost });
  await (await paid(30)).settle({ prompt_tokens: 2, completion_tokens: null });
  expect(await left()).toBe(70);
  await (await paid(30)).settle({ prompt_tokens: 2, completion_tokens: 1, other: { some: null } });
  expect(await left()).toBe(65);
});

describe("case 56: several budgets at once", () => {
  test("hold anonymous visitors of one address together, however many sessions they get", async () => {
    const { reserve } = openMeter({ limits: { user: 20, address: 50 } });
    const given = await Promise.all(Array.from({ length: 20 }, (_, nth) => reserve(10, `anon-${nth}`)));
    expect(given.filter((one) => "settle" in one)).toHaveLength(5);
    expect(await reserve(10, "anon-x", { address: "elsewhere" })).toHaveProperty("settle");
  });

  test("take an IPv6 address as its network", async () => {
    const { paid, left } = openMeter({ limits: { address: 100 } });
    for (const address of ["2001:db8:0:7::1", "2001:0DB8:0000:0007:ffff:ffff:ffff:ffff", "2001:db8:0:7::"])
      await paid(10, "user", { address });
    expect(await left("address", "user", { address: "2001:db8:0:7:a::" })).toBe(70);
    expect(await left("address", "user", { address: "2001:db8:0:8::1" })).toBe(100);
    await paid(10, "user", { address: "::ffff:192.0.2.1" });
    expect(await left("address", "user", { address: "192.0.2.1" })).toBe(90);
    await paid(10, "user", { address: "::1" });
    expect(await left("address", "user", { address: "0:0:0:0:9::" })).toBe(90);
  });

  test("hold requests without an address together", async () => {
    const { paid, left } = openMeter({ limits: { address: 100 } });
    const before = await left("address", "user", { address: undefined });
    await paid(10, "one", { address: undefined });
    expect(await left("address", "other", { address: undefined })).toBe(before - 10);
  });

  test("count each session of a user, and a user without one as a session", async () => {
    const { paid, reserve, left } = openMeter({ limits: { user: 100, session: 30 } });
    await paid(30, "user", { session: "phone" });
    expect(await reserve(1, "user", { session: "phone" })).toHaveProperty("retryAfterMs");
    await paid(30, "user", { session: "laptop" });
    await paid(20);
    expect([await left("session"), await left()]).toEqual([10, 20]);
    await paid(30, "another", { session: "phone" });
  });

  test("reserve in all or in none: where one refuses, the others have what they had", async () => {
    const { paid, reserve, left } = openMeter({
      limits: { user: 100, session: 90, address: 50, all: 10_000 },
    });
    const all = await left("all");
    await paid(40);
    expect(await reserve(20)).toEqual({ retryAfterMs: 50 * 60 * 1000, budget: "address", isShared: true });
    expect([await left(), await left("session"), await left("address")]).toEqual([60, 50, 10]);
    expect(await left("all")).toBe(all - 40);
  });

  test("settle and release in all", async () => {
    const { paid, left } = openMeter({ limits: { user: 100, address: 100 } });
    await (await paid(40)).settle({ total_tokens: 3 });
    await (await paid(40)).release();
    expect([await left(), await left("address")]).toEqual([97, 97]);
  });

  test("let nothing pass where one ledger fails, and release what the others hold", async () => {
    const names: string[] = [];
    const broken = {
      idFromName(name: string) {
        if (!names.includes(name)) names.push(name);
        return { id: env.BUDGET.idFromName(name), isBroken: names.indexOf(name) === 1 };
      },
      // the second of three ledgers, also when it is told to give back
      get: ({ id, isBroken }: { id: unknown; isBroken: boolean }) =>
        isBroken ? { fetch: async () => new Response("", { status: 500 }) } : env.BUDGET.get(id as never),
    };
    const limits = { user: 100, address: 100, all: 100 };
    const { reserve } = openMeter({ limits, namespace: () => broken });
    await expect(reserve(40)).rejects.toThrow("500");
    expect(await openMeter({ limits }).left()).toBe(100);
  });

  test("settle again where a ledger fails once", async () => {
    let fails = false;
    const flaky = {
      idFromName: (name: string) => env.BUDGET.idFromName(name),
      get: (id: never) => {
        const isBroken = fails;
        fails = false;
        return isBroken ? { fetch: () => Promise.reject(new Error("restarted")) } : env.BUDGET.get(id);
      },
    };
    const { paid, left } = openMeter({ namespace: () => flaky });
    const reservation = await paid(40);
    fails = true;
    await reservation.settle({ total_tokens: 3 });
    expect(await left()).toBe(97);
  });
});

describe("a user reads", () => {
  test("their own budgets: what is spent, held and left, and when the window ends", async () => {
    const { paid, read } = openMeter({ limits: { user: 100, session: 50, address: 70, all: 1000 } });
    await (await paid(20)).settle({ total_tokens: 7 });
    await paid(10, "user", { session: "phone" });
    const resetsAt = START + 50 * 60 * 1000;
    expect(await read({ session: "phone" })).toEqual([
      { by: "user", unit: "tokens", limit: 100, spent: 7, reserved: 10, remaining: 83, resetsAt },
      { by: "session", unit: "tokens", limit: 50, spent: 0, reserved: 10, remaining: 40, resetsAt },
    ]);
  });

  test("nothing less than zero, and leaves nothing behind", async () => {
    const { paid, read } = openMeter();
    expect(await read()).toMatchObject([{ spent: 0, remaining: 100 }]);
    const object = await ledger();
    expect(await tablesOf(object)).toEqual([]);
    await (await paid(100)).settle({ total_tokens: 130 });
    expect(await read()).toMatchObject([{ spent: 130, remaining: 0 }]);
  });
});

describe("an operator", () => {
  test("reads a budget, raises it until the window ends, and resets it", async () => {
    const { paid, reserve, left, ledger } = openMeter();
    await (await paid(100)).settle({ total_tokens: 95 });
    const open = await paid(5);
    expect(await reserve(1)).toHaveProperty("retryAfterMs");
    expect(await ledger().raise(30)).toMatchObject({
      by: "user",
      limit: 130,
      spent: 95,
      reserved: 5,
      remaining: 30,
    });
    await paid(30);
    expect(await ledger().reset()).toMatchObject({ limit: 100, spent: 0, reserved: 35, remaining: 65 });
    await open.settle({ total_tokens: 2 });
    expect(await left()).toBe(68);
    await ledger().raise(30);
    vi.setSystemTime(START + HOUR);
    expect(await ledger().read()).toMatchObject({ limit: 100, remaining: 100 });
  });

  test("can reset what was never used", async () => {
    expect(await openMeter().ledger().reset()).toMatchObject({ spent: 0, remaining: 100 });
    expect(await tablesOf(await ledger())).toEqual([]);
  });

  test("can't raise by what is no amount, or open a budget that there is not", async () => {
    const { ledger } = openMeter();
    await expect(ledger().raise(Number.NaN)).rejects.toThrow("amount");
    await expect(ledger().raise(-5)).rejects.toThrow("amount");
    expect(() => ledger("address")).toThrow("limits");
  });

  test("An operator who raises a budget leaves nothing behind when the window has ended", async () => {
    await openMeter().ledger().raise(5);
    const object = await ledger();
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(object);
    expect([await tablesOf(object), await alarmAt(object)]).toEqual([[], null]);
  });
});

describe("the ledger", () => {
  test("survives eviction, and what is never settled stays spent until the window turns", async () => {
    const { paid, left } = openMeter();
    await paid(30);
    const settledLater = await paid(30);
    await evictDurableObject(await ledger());
    expect(await left()).toBe(40);
    await settledLater.settle({ total_tokens: 10 });
    expect(await left()).toBe(60);
    vi.setSystemTime(START + HOUR);
    expect(await left()).toBe(100);
  });

  test("counts what is settled after the turn in the window in which it was set aside", async () => {
    const { paid, left } = openMeter();
    const late = await paid(60);
    const second = await paid(10);
    vi.setSystemTime(START + HOUR);
    await paid(10);
    await late.settle({ total_tokens: 60 });
    await second.settle(undefined);
    expect(await left()).toBe(90);
  });

  test("leaves nothing behind when its window has turned", async () => {
    const { paid } = openMeter();
    await (await paid(10)).settle({ total_tokens: 5 });
    const open = await paid(10);
    const object = await ledger();
    vi.setSystemTime(START + 50 * 60 * 1000);
    await runDurableObjectAlarm(object);
    // a reservation that is not settled keeps the object
    expect(await alarmAt(object)).toBe(START + HOUR);
    await open.settle(undefined);
    await runDurableObjectAlarm(object);
    expect([await tablesOf(object), await alarmAt(object)]).toEqual([[], null]);
    await runInDurableObject(object, (instance) => instance.alarm()); // alarms may come twice
    await paid(100); // the object lives on, and begins anew
  });

  test("makes nothing anew for what is settled after all was deleted", async () => {
    const { paid } = openMeter();
    const late = await paid(60);
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(await ledger());
    await late.settle({ total_tokens: 60 });
    expect(await tablesOf(await ledger())).toEqual([]);
  });

  test("keeps what belongs to the next window when an alarm comes late, and comes back for it", async () => {
    const { paid, left } = openMeter();
    await paid(10);
    const object = await ledger();
    vi.setSystemTime(START + HOUR);
    await paid(30);
    await runDurableObjectAlarm(object);
    expect(await alarmAt(object)).toBeGreaterThan(START + HOUR);
    expect(await left()).toBe(70);
  });
});

describe("a wrong budget", () => {
  test.each([
    ["windowMs", { windowMs: 0 }],
    ["windowMs", { windowMs: Number.POSITIVE_INFINITY }],
    ["limits", { limits: {} }],
    ["limits", { limits: { users: 5 } as object }],
    ["limits.user", { limits: { user: Number.NaN } }],
    ["limits.all", { limits: { user: 5, all: -1 } }],
  ])("is refused when it is made: %s in %j", (name, options) => {
    expect(() => openMeter(options)).toThrow(name);
  });

  test.each([
    ["reserveFor", { reserveFor: () => Number.NaN }],
    ["limits.user", { limits: { user: () => Number.POSITIVE_INFINITY } }],
  ])("lets nothing pass: %s gives no number", async (name, options) => {
    await expect(openMeter(options).reserve()).rejects.toThrow(name);
  });

  test("lets nothing pass when the ledger fails", async () => {
    const gone = {
      idFromName: () => "",
      get: () => ({ fetch: async () => new Response("", { status: 500 }) }),
    };
    await expect(openMeter({ namespace: () => gone }).reserve()).rejects.toThrow("500");
  });
});

function tablesOf(object: Awaited<ReturnType<typeof ledger>>) {
  return runInDurableObject(object, (_, { storage }) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf%'")
      .toArray(),
  );
}

function alarmAt(object: Awaited<ReturnType<typeof ledger>>) {
  return runInDurableObject(object, (_, { storage }) => storage.getAlarm());
}

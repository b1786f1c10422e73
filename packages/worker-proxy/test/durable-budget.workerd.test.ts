import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type BudgetOptions, budget } from "@sluice/worker-proxy/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

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
    limit: 100,
    windowMs: HOUR,
    reserveFor: ({ body }) => Number(body?.most ?? 10),
    cost: ({ total_tokens }) => total_tokens as number,
    ...options,
  });
  const admitted = (most?: number, userId = "user") => ({
    request: new Request("https://proxy.example/"),
    env,
    context: undefined,
    user: { id: `${userId}-${tests}` },
    route: "chat" as const,
    ...(most !== undefined && { body: { most } }),
  });
  const reserve = (most?: number, userId?: string) => meter.reserve(admitted(most, userId));
  return {
    reserve,
    /** Sets money aside that there has to be. */
    async paid(most?: number) {
      const given = await reserve(most);
      if (!("settle" in given)) throw new Error("nothing is left");
      return given;
    },
    /** How much is left, found out by asking. */
    async left(userId?: string) {
      for (let amount = 100; amount > 0; amount -= 1) {
        const given = await reserve(amount, userId);
        if ("release" in given) {
          await given.release();
          return amount;
        }
      }
      return 0;
    },
  };
}
type Env = typeof env;

async function ledger() {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`user-${tests}`));
  const name = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return env.BUDGET.get(env.BUDGET.idFromName(name));
}

describe("a budget", () => {
  test("of fifty requests at once, with money for one, lets one pass", async () => {
    const { reserve } = openMeter({ limit: 10 });
    const given = await Promise.all(Array.from({ length: 50 }, () => reserve(10)));
    expect(given.filter((one) => "settle" in one)).toHaveLength(1);
  });

  test("says how long until the window turns", async () => {
    const { reserve, paid } = openMeter();
    await paid(100);
    expect(await reserve(1)).toEqual({ retryAfterMs: 50 * 60 * 1000 });
    vi.setSystemTime(START + 50 * 60 * 1000 - 1);
    expect(await reserve(1)).toEqual({ retryAfterMs: 1 });
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
    const { reserve } = openMeter({ limit: ({ user }) => (user.id.startsWith("rich") ? 1000 : 5) });
    expect(await reserve(10, "poor")).toHaveProperty("retryAfterMs");
    expect(await reserve(900, "rich")).toHaveProperty("settle");
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
    await paid(10);
    const object = await ledger();
    expect(await alarmAt(object)).toBe(START + 50 * 60 * 1000);
    vi.setSystemTime(START + 50 * 60 * 1000);
    await runDurableObjectAlarm(object);
    const names = await runInDurableObject(object, (_, { storage }) => {
      const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'amounts'");
      return tables.toArray();
    });
    expect([names, await alarmAt(object)]).toEqual([[], null]);
    await runInDurableObject(object, (instance) => instance.alarm()); // alarms may come twice
    await paid(100); // the object lives on, and begins anew
  });

  test("makes nothing anew for what is settled after all was deleted", async () => {
    const { paid } = openMeter();
    const late = await paid(60);
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(await ledger());
    await late.settle({ total_tokens: 60 });
    const tables = await runInDurableObject(await ledger(), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'amounts'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  test("keeps what belongs to the next window when an alarm comes late, and comes back for it", async () => {
    const { paid, left } = openMeter();
    await paid(10);
    const object = await ledger();
    vi.setSystemTime(START + HOUR);
    await paid(30);
    await runDurableObjectAlarm(object);
    expect(await alarmAt(object)).toBe(START + 50 * 60 * 1000 + HOUR);
    expect(await left()).toBe(70);
  });
});

describe("a wrong budget", () => {
  test.each([
    ["windowMs", { windowMs: 0 }],
    ["windowMs", { windowMs: Number.POSITIVE_INFINITY }],
    ["limit", { limit: Number.NaN }],
    ["limit", { limit: -1 }],
  ])("is refused when it is made: %s in %j", (name, options) => {
    expect(() => openMeter(options)).toThrow(name);
  });

  test.each([
    ["reserveFor", { reserveFor: () => Number.NaN }],
    ["limit", { limit: () => Number.POSITIVE_INFINITY }],
  ])("lets nothing pass: %s gives no number", async (name, options) => {
    await expect(openMeter(options).reserve()).rejects.toThrow(name);
  });

  test("lets nothing pass when the ledger can't be asked", async () => {
    const gone = {
      idFromName: () => "",
      get: () => ({ fetch: async () => new Response("", { status: 500 }) }),
    };
    await expect(openMeter({ namespace: () => gone }).reserve()).rejects.toThrow("500");
  });
});

function alarmAt(object: Awaited<ReturnType<typeof ledger>>) {
  return runInDurableObject(object, (_, { storage }) => storage.getAlarm());
}

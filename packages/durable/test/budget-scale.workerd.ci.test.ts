import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Budget, type BudgetOptions, budget, mostTokens } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { workerdTest } from "./support/platform.js";
import { countedState } from "./support/rows.js";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
/** Ten minutes into a day. */
const START = Date.UTC(2040, 0, 1, 0, 10);
const MIDNIGHT = Date.UTC(2040, 0, 2);
let tests = 0;
let lines: string[] = [];

beforeEach(() => {
  tests += 1;
  lines = [];
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Env = typeof env;

/** A meter of 100 for each user and day, where requests reserve 10 unless their body says `most`. */
function openMeter(options: Partial<BudgetOptions<Env>> = {}) {
  const meter = budget<Env>({
    namespace: ({ BUDGET }) => BUDGET,
    limits: { user: 100 },
    windowMs: DAY,
    reserveFor: ({ body }) => Number(body?.most ?? 10),
    ...options,
  });
  const userOf = (id = "user") => ({ id: `${id}-scale-${tests}`, address: `scale ${tests}` });
  const reserve = (most?: number, id?: string) =>
    meter.reserve({
      env,
      context: undefined,
      user: userOf(id),
      route: "chat",
      model: "delta-5.3",
      ...(most !== undefined && { body: { most } }),
    });
  return {
    meter,
    userOf,
    reserve,
    async paid(most?: number, id?: string) {
      const given = await reserve(most, id);
      if (!("settle" in given)) throw new Error("nothing is left");
      return given;
    },
    ledger: (by: string, id?: string) => meter.ledger(by, { env, user: userOf(id) }),
  };
}

/** The object of a name of this test; nobody else uses it. */
function objectOf(name: string) {
  return env.BUDGET.get(env.BUDGET.idFromName(`${name} ${tests}`));
}

async function objectOfUser(id = "user") {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`user\n${id}-scale-${tests}`));
  const name = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return env.BUDGET.get(env.BUDGET.idFromName(name));
}

const entry = (object: ReturnType<typeof objectOf>, body: object) =>
  object.fetch("https://budget.invalid/", {
    method: "POST",
    body: JSON.stringify({ windowMs: DAY, ...body }),
  });
const reserving = (id: string) => ({ do: "reserve", id, amount: 1, limit: 1e9, holdMs: HOUR });
const chat = (content: unknown, more: object = {}) => ({
  body: { messages: [{ role: "user", content }], ...more },
});

describe("case 93: the work for a request does not grow with the requests under way", () => {
  workerdTest.each([0, 1000, 100_000])(
    "it reads and writes a few rows beside %i open reservations",
    async (open) => {
      const object = objectOf(`rows ${open}`);
      await entry(object, reserving("first"));
      const used = await runInDurableObject(object, async (_, state) => {
        state.storage.sql.exec(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
          INSERT INTO reservations SELECT 'open-' || i, ?2, 1, ?3 + i FROM n WHERE ?1 > 0`,
          open,
          MIDNIGHT,
          START + HOUR,
        );
        const counted = countedState(state);
        const ledger = new Budget(counted.state);
        const enter = (body: object) =>
          ledger.fetch(
            new Request("https://budget.invalid/", {
              method: "POST",
              body: JSON.stringify({ windowMs: DAY, ...body }),
            }),
          );
        await enter(reserving("warm"));
        counted.rows.read = 0;
        counted.rows.written = 0;
        await enter(reserving("one"));
        await enter({ do: "settle", id: "one", amount: 1 });
        return counted.rows;
      });
      expect(used.read).toBeLessThanOrEqual(25);
      expect(used.written).toBeLessThanOrEqual(8);
    },
  );

  test("an alarm ends thousands of forgotten reservations in steps, and comes back for the rest", async () => {
    const object = objectOf("overdue");
    await entry(object, reserving("first"));
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
          INSERT INTO reservations SELECT 'open-' || i, ?, 1, ? FROM n`,
        MIDNIGHT,
        START + HOUR,
      );
      storage.sql.exec("UPDATE windows SET reserved = reserved + 1200");
    });
    vi.setSystemTime(START + HOUR);
    const left = () =>
      runInDurableObject(object, (_, { storage }) =>
        Number(storage.sql.exec("SELECT count(*) AS n FROM reservations").toArray()[0]?.["n"]),
      );
    const counts: number[] = [];
    while ((await left()) > 0 && counts.length < 10) {
      await runDurableObjectAlarm(object);
      counts.push(await left());
    }
    expect(counts).toEqual([701, 201, 0]);
    expect(await (await entry(object, { do: "read" })).json()).toMatchObject({ spent: 1201, reserved: 0 });
  });

  test("the ends of a thousand windows are spread over an hour", async () => {
    const alarms = await Promise.all(
      Array.from({ length: 40 }, async (_, nth) => {
        const object = objectOf(`window ${nth}`);
        await entry(object, { do: "raise", amount: 1 });
        return runInDurableObject(object, (_, { storage }) => storage.getAlarm());
      }),
    );
    const minutes = alarms.map((at) => Math.floor((Number(at) - MIDNIGHT) / 60_000));
    expect(Math.min(...minutes)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...minutes)).toBeLessThan(60);
    expect(new Set(minutes).size).toBeGreaterThan(10);
  });
});

describe("case 151: the last hour of a window", () => {
  test("the end of a busy budget stays where it was laid, however many requests follow", async () => {
    const object = objectOf("busy");
    vi.setSystemTime(MIDNIGHT - 60_000);
    vi.spyOn(Math, "random").mockReturnValue(0).mockReturnValueOnce(0.75);
    for (let nth = 0; nth < 20; nth += 1) await entry(object, { ...reserving(`busy ${nth}`), holdMs: DAY });
    const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    expect(at).toBe(MIDNIGHT + (HOUR * 3) / 4);
  });
});

describe("case 94: a reservation that nobody settles", () => {
  test("is spent in full after an hour, not at midnight, and the log says so", async () => {
    const { paid, ledger } = openMeter();
    await paid(60);
    expect(await ledger("user").read()).toMatchObject({ spent: 0, reserved: 60 });
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(await objectOfUser());
    expect(await ledger("user").read()).toMatchObject({ spent: 60, reserved: 0, remaining: 40 });
    expect(lines).toEqual([
      expect.stringMatching(/nobody settled 1 reservations, of 60; they are spent: [\da-f-]{36}/),
    ]);
  });

  test("is spent by the next request, too, where the alarm is late", async () => {
    const { paid, ledger } = openMeter({ holdMs: 1000 });
    await paid(60);
    vi.setSystemTime(START + 1000);
    await paid(10);
    expect(await ledger("user").read()).toMatchObject({ spent: 60, reserved: 10 });
  });

  test("is not settled again by an answer that ends later", async () => {
    const { paid, ledger } = openMeter({ holdMs: 1000 });
    const late = await paid(60);
    vi.setSystemTime(START + 1000);
    await runDurableObjectAlarm(await objectOfUser());
    await late.settle({ total_tokens: 5 });
    expect(await ledger("user").read()).toMatchObject({ spent: 60, reserved: 0 });
  });

  test("counts once, though its request to the object came twice", async () => {
    const object = objectOf("twice");
    await entry(object, reserving("same"));
    expect(await (await entry(object, reserving("same"))).json()).toMatchObject({ reserved: 1 });
  });
});

describe("case 95: a usage that can't be true", () => {
  test("is counted as ten times what was reserved, and the log names the user and the model", async () => {
    const { paid, ledger } = openMeter({ limits: { user: 1000 } });
    await (await paid(10)).settle({ total_tokens: Number.MAX_SAFE_INTEGER });
    expect(await ledger("user").read()).toMatchObject({ spent: 100, remaining: 900 });
    expect(lines).toEqual([
      expect.stringContaining(`delta-5.3 cost user user-scale-${tests} ${Number.MAX_SAFE_INTEGER}`),
    ]);
  });

  test("A usage of up to ten times the reservation is spent as it is", async () => {
    const { paid, ledger } = openMeter({ limits: { user: 1000 } });
    await (await paid(10)).settle({ total_tokens: 100 });
    expect(await ledger("user").read()).toMatchObject({ spent: 100 });
    expect(lines).toEqual([]);
  });
});

describe("case 96: a refusal names the budget that is used up", () => {
  test.each([
    ["user", { user: 5 }, false],
    ["address", { user: 100, address: 5 }, true],
    ["team", { user: 100, team: { limit: 5, by: () => "red" } }, true],
  ])("%s", async (name, limits, isShared) => {
    expect(await openMeter({ limits }).reserve(10)).toMatchObject({ budget: name, isShared });
  });

  test("the user's own one, where a shared one is used up as well", async () => {
    const { reserve } = openMeter({ limits: { address: 5, user: 5 } });
    expect(await reserve(10)).toMatchObject({ budget: "user", isShared: false });
  });
});

describe("a budget of a team", () => {
  const teams = {
    limit: 30,
    by: ({ user }: { user: { id: string } }) => (user.id.startsWith("guest") ? undefined : `team ${tests}`),
  };

  test("is spent by all of its members", async () => {
    const { paid, reserve, ledger } = openMeter({ limits: { team: teams } });
    await paid(20, "ada");
    expect(await reserve(20, "bob")).toMatchObject({ budget: "team", isShared: true });
    expect(await ledger("team", "bob").read()).toMatchObject({
      by: "team",
      limit: 30,
      reserved: 20,
      remaining: 10,
    });
  });

  test("does not concern a user without one", async () => {
    const { paid, ledger } = openMeter({ limits: { team: teams } });
    await paid(500, "guest");
    await expect(ledger("team", "guest").read()).rejects.toThrow("limits.team: `by` gives no name");
  });

  test.each([
    ["limits.team: give one of user, session, address, all, or `by`", { team: 5 }],
    ["limits.user: has a name of its own", { user: { limit: 5, by: () => "x" } }],
    ["limits.all.shards: give a whole number", { all: { limit: 5, shards: 0 } }],
  ])("%s", (message, limits) => {
    expect(() => openMeter({ limits })).toThrow(message);
  });
});

describe("a budget of all in several objects", () => {
  const shards = 4;
  const all = (limit: number) => ({ limits: { every: { limit, shards, by: () => `all ${tests}` } } });

  test("never lets more than the limit pass, and leaves little of it", async () => {
    const { reserve, ledger } = openMeter(all(4000));
    const given = await Promise.all(Array.from({ length: 500 }, () => reserve(10)));
    const passed = given.filter((one) => "settle" in one).length;
    expect(passed).toBeLessThanOrEqual(400);
    expect(passed).toBeGreaterThanOrEqual(300);
    expect(await ledger("every").read()).toMatchObject({ limit: 4000, reserved: passed * 10 });
  });

  test("counts each request in one object alone", async () => {
    let calls = 0;
    const namespace = {
      idFromName: (name: string) => env.BUDGET.idFromName(name),
      get(id: never) {
        calls += 1;
        return env.BUDGET.get(id);
      },
    };
    const { paid } = openMeter({ ...all(4000), namespace: () => namespace });
    for (let nth = 0; nth < 20; nth += 1) await (await paid(10)).settle({ total_tokens: 1 });
    expect(calls).toBe(40);
  });

  test("case 152: gives each of 16 objects its part of the requests, with one digest for a request", async () => {
    const asked = new Map<string, number>();
    const namespace = {
      idFromName(name: string) {
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return env.BUDGET.idFromName(name);
      },
      get: (id: never) => env.BUDGET.get(id),
    };
    const digest = vi.spyOn(crypto.subtle, "digest");
    let nth = 0;
    vi.spyOn(Math, "random").mockImplementation(() => (nth++ % 64) / 64);
    const limits = { every: { limit: 16_000, shards: 16, by: () => `all ${tests}` } };
    const { paid } = openMeter({ limits, namespace: () => namespace });
    const work = await Promise.all(Array.from({ length: 64 }, () => paid(10)));
    expect([...asked.values()]).toEqual(Array(16).fill(4));
    expect(digest).toHaveBeenCalledTimes(64);
    await Promise.all(work.map(({ settle }) => settle({ total_tokens: 1 })));
    expect([...asked.values()]).toEqual(Array(16).fill(8));
  });

  test("is settled, raised and reset in all of them", async () => {
    const { paid, ledger } = openMeter(all(4000));
    for (let nth = 0; nth < 20; nth += 1) await (await paid(10)).settle({ total_tokens: 3 });
    expect(await ledger("every").read()).toMatchObject({ spent: 60, reserved: 0 });
    expect(await ledger("every").raise(400)).toMatchObject({ limit: 4400 });
    expect(await ledger("every").reset()).toMatchObject({ limit: 4000, spent: 0 });
  });
});

describe("case 97: a bound in bytes", () => {
  const prompt = "汉".repeat(100_000);

  test("lets no more Chinese prompts pass than there is money for", async () => {
    const meter = budget<Env>({
      namespace: ({ BUDGET }) => BUDGET,
      limits: { user: 700_000 },
      windowMs: DAY,
      reserveFor: mostTokens,
    });
    const ask = () =>
      meter.reserve({ env, context: undefined, user: { id: `zh-${tests}` }, route: "chat", ...chat(prompt) });
    const given = await Promise.all(Array.from({ length: 30 }, ask));
    // a token for each character is the most that the gateway counts
    const spent = given.filter((one) => "settle" in one).length * 100_000;
    expect(spent).toBeLessThanOrEqual(700_000);
    expect(spent).toBeGreaterThan(0);
  });

  test("counts an image by its number, and not by its bytes", () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1_000_000)}` } };
    const tokens = mostTokens(chat([image, image], { max_tokens: 100 }));
    expect(tokens).toBeGreaterThan(20_100);
    expect(tokens).toBeLessThan(20_400);
    expect(mostTokens(chat([image]), { image: 5, answer: 7 })).toBeLessThan(200);
  });
});

describe("case 150: a text that looks like an image", () => {
  const text = `data:image/png;base64,${"A".repeat(100_000)}`;

  test.each([
    ["a prompt", chat(text)],
    ["a part of a prompt", chat([{ type: "text", text }])],
    ["the schema of a tool", { body: { tools: [{ function: { parameters: { url: text } } }] } }],
  ])("is counted by its bytes: %s", (_, asked) => {
    expect(mostTokens(asked)).toBeGreaterThan(100_000);
  });

  test("An image by its address, which costs what one in the request does, is counted as an image", () => {
    const image = { type: "image_url", image_url: { url: "https://a.example/a.png" } };
    expect(mostTokens(chat([image, image], { max_tokens: 100 }))).toBeGreaterThan(20_100);
  });
});

describe("case 98: rows of an earlier version", () => {
  test("Rows of the first version are brought up to date: nothing that was spent or reserved is lost", async () => {
    const { paid, ledger } = openMeter();
    const object = await objectOfUser();
    await runInDurableObject(object, (_, { storage }) => {
      const { sql } = storage;
      sql.exec("CREATE TABLE amounts (id TEXT, turnsAt INTEGER, amount INTEGER, PRIMARY KEY (id, turnsAt))");
      for (const row of [
        ["spent", 30],
        ["raised", 20],
        ["open", 40],
      ])
        sql.exec("INSERT INTO amounts VALUES (?, ?, ?)", row[0], MIDNIGHT, row[1]);
      sql.exec("INSERT INTO amounts VALUES ('spent', ?, 99)", MIDNIGHT - DAY);
    });
    expect(await ledger("user").read()).toMatchObject({ limit: 120, spent: 30, reserved: 40, remaining: 50 });
    await entry(object, { do: "settle", id: "open", amount: 5 });
    await paid(60);
    expect(await ledger("user").read()).toMatchObject({ spent: 35, reserved: 60, remaining: 25 });
  });

  test("Rows of a later version are neither read nor changed: nothing passes", async () => {
    const { paid, reserve } = openMeter();
    await (await paid(10)).settle({ total_tokens: 10 });
    const object = await objectOfUser();
    await runInDurableObject(
      object,
      (_, { storage }) => void storage.sql.exec("UPDATE version SET number = 99"),
    );
    await evictDurableObject(object);
    await expect(reserve(10)).rejects.toThrow();
  });
});

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { admin, type BudgetOptions, budget, eraseUser, exportUser } from "@sluice/durable";
import { createProxy } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KEY, read } from "../../worker-proxy/test/support/key.js";

type Env = typeof env;
const HOUR = 60 * 60 * 1000;
/** Ten minutes into a window. */
const START = Date.UTC(2040, 0, 1, 0, 10);
let tests = 0;

beforeEach(() => {
  tests += 1;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => void vi.useRealTimers());

const ann = () => `ann-${tests}`;
const bob = () => `bob-${tests}`;

/** A meter of 100 an hour for each user, each team, and all. */
function openMeter(limits: BudgetOptions<Env>["limits"] = { user: 100, all: 1_000_000 }) {
  const meter = budget<Env>({
    namespace: ({ BUDGET }) => BUDGET,
    limits,
    windowMs: HOUR,
    reserveFor: () => 10,
  });
  const reserve = async (id = ann()) => {
    const given = await meter.reserve({ env, context: undefined, user: { id }, route: "chat" });
    if (!("settle" in given)) throw new Error("nothing is left");
    return given;
  };
  const spend = async (id = ann()) => (await reserve(id)).settle({ total_tokens: 7 });
  return { meter, reserve, spend };
}

/** The object of a ledger. */
async function objectOf(name: string) {
  return env.BUDGET.get(env.BUDGET.idFromName(await hashOf(name)));
}

/** The tables and the alarm that a ledger has left in its storage. */
async function leftIn(name: string) {
  return runInDurableObject(await objectOf(name), async (_, { storage }) => ({
    tables: storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf%'")
      .toArray(),
    alarm: await storage.getAlarm(),
  }));
}
const nothing = { tables: [], alarm: null };

describe("case 133: erasing the budgets of a user", () => {
  test("leaves no row and no alarm of the user, and those of others and of all", async () => {
    const { meter, spend } = openMeter();
    await spend();
    await spend(bob());
    expect(await eraseUser([meter], env, ann())).toEqual({ erased: ["budgets"], failed: [] });
    expect(await leftIn(`user\n${ann()}`)).toEqual(nothing);
    expect((await leftIn(`user\n${bob()}`)).tables).not.toEqual([]);
    expect((await leftIn("all\n")).tables).not.toEqual([]);
  });

  test("reaches each object of a budget that is spread, and one whose `by` is the user's id", async () => {
    const own = { limit: 100, by: ({ user }: { user: { id: string } }) => user.id };
    const { meter, spend } = openMeter({ user: { limit: 300, shards: 3 }, films: own });
    for (let times = 0; times < 9; times += 1) await spend();
    await eraseUser([meter], env, ann());
    for (const name of [`user\n${ann()}`, `user\n${ann()}\n1`, `user\n${ann()}\n2`, `films\n${ann()}`])
      expect(await leftIn(name)).toEqual(nothing);
  });

  test("keeps the budget of a team: others spend from it", async () => {
    const team = { limit: 100, by: () => `team-${tests}` };
    const { meter, spend } = openMeter({ team });
    await spend();
    await eraseUser([meter], env, ann());
    expect((await leftIn(`team\nteam-${tests}`)).tables).not.toEqual([]);
  });

  test.each([
    ["reserved before", true],
    ["reserves after", false],
  ])("leaves nothing of a request under way that %s", async (_, isBefore) => {
    const { meter, reserve } = openMeter();
    const before = isBefore ? await reserve() : undefined;
    await eraseUser([meter], env, ann());
    const reserved = before ?? (await reserve());
    await reserved.settle({ total_tokens: 7 });
    expect(await leftIn(`user\n${ann()}`)).toEqual(nothing);
  });

  test("leaves nothing of a request under way that nobody settles, after the time for it", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { meter, reserve } = openMeter();
    await eraseUser([meter], env, ann());
    await reserve();
    vi.setSystemTime(START + 3 * HOUR);
    const object = await objectOf(`user\n${ann()}`);
    await runDurableObjectAlarm(object);
    expect(await leftIn(`user\n${ann()}`)).toEqual(nothing);
    expect(log).toHaveBeenCalled();
  });

  test("counts a user who comes back a minute later", async () => {
    const { meter, spend } = openMeter();
    await eraseUser([meter], env, ann());
    vi.setSystemTime(START + 60_000);
    await spend();
    expect(await meter.ledger("user", { env, user: { id: ann() } }).read()).toMatchObject({ spent: 7 });
  });

  test("is the same when it is done again, and after the object was evicted", async () => {
    const { meter, spend } = openMeter();
    await spend();
    await eraseUser([meter], env, ann());
    await evictDurableObject(await objectOf(`user\n${ann()}`));
    expect(await eraseUser([meter], env, ann())).toEqual({ erased: ["budgets"], failed: [] });
    expect(await leftIn(`user\n${ann()}`)).toEqual(nothing);
  });
});

test("the export has the user's own budgets, and creates nothing for a user who has none", async () => {
  const { meter, spend } = openMeter();
  await spend();
  expect(await exportUser([meter], env, ann())).toMatchObject({
    data: { budgets: [{ by: "user", limit: 100, spent: 7, reserved: 0 }] },
    failed: [],
  });
  await exportUser([meter], env, "nobody-yet");
  expect(await leftIn("user\nnobody-yet")).toEqual(nothing);
});

describe("an operator of budgets", () => {
  /** A proxy with the budgets of `openMeter`. */
  function openProxy(limits?: BudgetOptions<Env>["limits"]) {
    const { meter, spend } = openMeter(limits);
    const proxy = createProxy<Env>({
      baseURL: "https://gateway.example",
      apiKey: () => KEY,
      authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
      origins: [],
      models: ["delta-5.3"],
      plugins: [meter, admin<Env>({ operators: ({ id }) => id === "ada", parts: [meter] })],
    });
    const post = async (operation: string, body: object) => {
      const headers = { authorization: "ada", "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return read(await proxy.fetch(new Request(`https://proxy.example/v1/admin/${operation}`, init), env));
    };
    return { post, spend };
  }

  test("reads, raises and resets the budget of a user", async () => {
    const { post, spend } = openProxy();
    await spend();
    const asked = { by: "user", user: ann() };
    expect(JSON.parse((await post("budgets/read", asked)).text)).toMatchObject({ spent: 7, limit: 100 });
    const raised = await post("budgets/raise", { ...asked, amount: 50 });
    expect(JSON.parse(raised.text)).toMatchObject({ spent: 7, limit: 150, remaining: 143 });
    expect(JSON.parse((await post("budgets/reset", asked)).text)).toMatchObject({ spent: 0, limit: 100 });
  });

  test("reads those of a session, an address, a team, and all", async () => {
    const team = { limit: 50, by: ({ user }: { user: { id: string } }) => `team of ${user.id}` };
    const { post } = openProxy({ session: 10, address: 20, all: 40, team });
    for (const [limit, asked] of [
      [10, { by: "session", user: ann(), session: "s-1" }],
      [20, { by: "address", address: "192.0.2.1" }],
      [40, { by: "all" }],
      [50, { by: "team", user: ann() }],
    ] as const)
      expect(JSON.parse((await post("budgets/read", asked)).text)).toMatchObject({ by: asked.by, limit });
  });

  test.each([
    [{}, "by: give the name"],
    [{ by: "user" }, "user: give a text"],
    [{ by: "session", user: "x" }, "session: give a text"],
    [{ by: "address" }, "address: give a text"],
    [{ by: "moon", user: "x" }, "limits: has none for moon"],
    [{ by: "user", user: "x", amount: "much" }, "amount: give a number from 0 up"],
    [{ by: "user", user: "x", amount: -5 }, "amount: give a number from 0 up"],
  ])("is told what is wrong in %j", async (asked, message) => {
    const { post } = openProxy({ user: 10, session: 10, address: 10 });
    expect(await post("budgets/raise", asked)).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining(message) },
    });
  });
});

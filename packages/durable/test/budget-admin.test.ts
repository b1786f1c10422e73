import { beforeEach, describe, expect, test, vi } from "vitest";
import { admin } from "../src/admin/admin.js";
import { eraseUser, exportUser } from "../src/admin/user-data.js";
import type { BudgetOptions } from "../src/budgets/budget.js";
import { HOUR, openBudget, START, setClock } from "./support/budget-proxy.js";

beforeEach(() => setClock());

const NONE = [0, 0, 0, 0];
/** A proxy with a budget, and paths for the operator "ada". */
function openOperated(limits: BudgetOptions["limits"] = { user: 100, all: 1_000_000 }) {
  const plugins = [admin({ isOperator: ({ id }) => id === "ada" })];
  const opened = openBudget({ options: { limits }, proxy: { plugins } });
  const operate = async (operation: string, body: object, operator = "ada") => {
    const { status, text, error } = await opened.post(operator, `/v1/admin/${operation}`, body);
    return { status, error, body: JSON.parse(text) as Record<string, unknown> };
  };
  const spend = async (id = "ann", more: object = {}) =>
    (await opened.paid(10, id, { user: { id, ...more } })).settle({ total_tokens: 7 });
  return { ...opened, operate, spend };
}
const ofUsers = "key LIKE 'user:%'";

describe("an operator of budgets", () => {
  test("reads, raises and resets the limit of a user", async () => {
    const { operate, spend, paid, reserve } = openOperated();
    await spend();
    const target = { by: "user", user: "ann" };
    expect((await operate("budgets/read", target)).body).toMatchObject({ spent: 7, limit: 100 });
    const raised = await operate("budgets/raise", { ...target, amount: 50 });
    expect(raised.body).toMatchObject({ spent: 7, limit: 150, remaining: 143 });
    const open = await paid(140);
    expect(await reserve(10)).toHaveProperty("retryAfterMs");
    const reset = await operate("budgets/reset", target);
    expect(reset.body).toMatchObject({ spent: 0, limit: 100, reserved: 140, remaining: 0 });
    await open.settle({ total_tokens: 2 });
    expect((await operate("budgets/read", target)).body).toMatchObject({ spent: 2, reserved: 0 });
  });

  test("raises a limit until its window ends", async () => {
    const { plugin, state } = openOperated();
    await plugin.raise("user", { env: {}, user: { id: "ann" } }, 30);
    expect(await state()).toMatchObject({ limit: 130 });
    vi.setSystemTime(START + HOUR);
    expect(await state()).toMatchObject({ limit: 100 });
  });

  test("reads the limits of a session, an address, a team and all", async () => {
    const team = { limit: 50, by: ({ user }: { user: { id: string } }) => `team of ${user.id}` };
    const { operate } = openOperated({ session: 10, address: 20, all: 40, team });
    for (const [limit, target] of [
      [10, { by: "session", user: "ann", session: "s-1" }],
      [20, { by: "address", address: "192.0.2.1" }],
      [40, { by: "all" }],
      [50, { by: "team", user: "ann" }],
    ] as const)
      expect((await operate("budgets/read", target)).body).toMatchObject({ by: target.by, limit });
  });

  test("creates no row by reading and resetting an unused limit", async () => {
    const { operate, count } = openOperated();
    for (const operation of ["budgets/read", "budgets/reset"])
      expect((await operate(operation, { by: "user", user: "ann" })).body).toMatchObject({ spent: 0 });
    expect(await count()).toEqual(NONE);
  });

  test.each([
    [{}, "by: give the name"],
    [{ by: "user" }, "user: give a text"],
    [{ by: "session", user: "x" }, "session: give a text"],
    [{ by: "address" }, "address: give a text"],
    [{ by: "moon", user: "x", amount: 5 }, "limits: no limit has the name moon"],
    [{ by: "user", user: "x", amount: "5" }, "amount: give a number from 0 up"],
    [{ by: "user", user: "x", amount: -5 }, "amount: give a number from 0 up"],
    [{ by: "user", user: "x" }, "amount: give a number from 0 up"],
    [{ by: "user", user: "x", amount: 5, until: 5 }, "until: is not a field of this operation"],
  ])("gets an error that names what is wrong in %j", async (target, message) => {
    const { operate, count } = openOperated({ user: 10, session: 10, address: 10 });
    expect(await operate("budgets/raise", target)).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining(message) },
    });
    expect(await count()).toEqual(NONE);
  });

  test("is required: a user can't raise a budget, or learn that it can be raised", async () => {
    const { operate, state } = openOperated();
    const target = { by: "user", user: "ann", amount: 50 };
    const real = await operate("budgets/raise", target, "ann");
    expect(real).toEqual({ ...(await operate("no/path", target, "ann")), body: real.body });
    expect(real.status).toBe(404);
    expect(await state()).toMatchObject({ limit: 100 });
  });
});

describe("erasing a user (case 133)", () => {
  test("deletes all rows of the user, and no row of other users or of the limit `all`", async () => {
    const { spend, paid, proxy, count, state, query } = openOperated({ user: 100, session: 100, all: 1000 });
    await spend("ann", { session: "phone" });
    await spend("ann");
    await paid(10);
    await spend("bob");
    expect(await eraseUser(proxy, {}, "ann")).toEqual({ erased: ["budgets"], failed: [] });
    expect(await count(ofUsers)).toEqual([2, 0, 0, 1]);
    expect(await state("user", "bob")).toMatchObject({ spent: 7 });
    expect(await state("all")).toMatchObject({ spent: 21, reserved: 10 });
    // the sweeps of bob and of the limit `all`
    expect(await query("SELECT key FROM timers")).toHaveLength(2);
    expect(await eraseUser(proxy, {}, "ann")).toEqual({ erased: ["budgets"], failed: [] });
  });

  test("reaches a limit of your own whose `by` is the id of the user, in each of its keys", async () => {
    const videos = { limit: 300, shards: 3, by: ({ user }: { user: { id: string } }) => user.id };
    const team = { limit: 100, by: () => "red" };
    const { spend, proxy, count, state } = openOperated({ videos, team });
    for (let times = 0; times < 9; times += 1) await spend();
    await eraseUser(proxy, {}, "ann");
    expect(await count()).toEqual([1, 0, 0, 1]);
    expect(await state("team")).toMatchObject({ spent: 63 });
  });

  test("leaves no row of a running request after its end", async () => {
    const { paid, proxy, count } = openOperated();
    const open = await paid(10);
    await eraseUser(proxy, {}, "ann");
    await open.settle({ total_tokens: 7 });
    expect(await count(ofUsers)).toEqual(NONE);
  });

  test("deletes any number of rows, in pages", async () => {
    const { paid, proxy, query, count } = openOperated();
    await paid(1);
    await query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1234)
      INSERT INTO budget_reservations SELECT key, 'open-' || i, name, resets_at, 1, ends_at FROM budget_reservations, n
      WHERE ${ofUsers}`);
    await eraseUser(proxy, {}, "ann");
    expect(await count(ofUsers)).toEqual(NONE);
  });

  test("counts the requests of a user who returns", async () => {
    const { spend, proxy, state } = openOperated();
    await spend();
    await eraseUser(proxy, {}, "ann");
    await spend();
    expect(await state()).toMatchObject({ spent: 7 });
  });
});

describe("the export of a user", () => {
  test("has the user's own limits and sessions, and creates nothing for a user who has none", async () => {
    const { spend, proxy, count } = openOperated({ user: 100, session: 100, all: 1000 });
    expect(await exportUser(proxy, {}, "ann")).toMatchObject({
      data: { budgets: [{ by: "user", spent: 0 }] },
    });
    expect(await count()).toEqual(NONE);
    await spend("ann", { session: "phone" });
    await spend("bob");
    expect(await exportUser(proxy, {}, "ann")).toEqual({
      user: "ann",
      data: {
        budgets: [
          expect.objectContaining({ by: "user", limit: 100, spent: 7, reserved: 0 }),
          { by: "session", spent: 7, reserved: 0, resetsAt: expect.any(Number) },
        ],
      },
      failed: [],
      tooLarge: [],
      cursors: {},
    });
  });

  test("has at most 1,000 sessions", async () => {
    const { spend, proxy, query } = openOperated({ user: 100, session: 100 });
    await spend();
    await query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
      INSERT INTO budget_windows SELECT key, 'session ' || printf('%064x', i), resets_at, 1, 0, 0 FROM budget_windows, n
      WHERE name = 'user'`);
    const { data } = await exportUser(proxy, {}, "ann");
    expect(data["budgets"]).toHaveLength(1001);
  });
});

import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { HOUR, openBudget, setClock } from "./support/budget-proxy.js";

expectLog("were not settled in time");

const DAY = 24 * HOUR;
const NOON = Date.UTC(2040, 0, 1, 12);
const MIDNIGHT = Date.UTC(2040, 0, 2);

beforeEach(() => setClock(NOON));

/** Sets the random numbers, one after another and again from the first. */
function setRandom(...values: number[]): void {
  let nth = 0;
  vi.spyOn(Math, "random").mockImplementation(() => values[nth++ % values.length] ?? 0);
  onTestFinished(() => void vi.restoreAllMocks());
}

const readSweeps = async ({ query }: ReturnType<typeof openBudget>) =>
  (await query("SELECT key, due FROM timers ORDER BY due")) as { key: string; due: number }[];

describe("the sweep of a window (case 151)", () => {
  test("keeps the time that the first request set, however many requests follow", async () => {
    const opened = openBudget({ options: { limits: { user: 1000 }, windowMs: DAY } });
    setRandom(0.75);
    await opened.paid(1);
    setRandom(0);
    vi.setSystemTime(MIDNIGHT - 60_000);
    for (let nth = 0; nth < 20; nth += 1) await opened.paid(1);
    expect(await readSweeps(opened)).toMatchObject([{ due: MIDNIGHT + (HOUR * 3) / 4 }]);
  });

  test("many timers are spread over an hour (case 93)", async () => {
    const opened = openBudget({ options: { windowMs: DAY } });
    for (let nth = 0; nth < 40; nth += 1) await opened.paid(1, `user-${nth}`);
    const minutes = (await readSweeps(opened)).map(({ due }) => Math.floor((due - MIDNIGHT) / 60_000));
    expect(minutes).toHaveLength(40);
    expect(Math.min(...minutes)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...minutes)).toBeLessThan(60);
    expect(new Set(minutes).size).toBeGreaterThan(10);
  });

  test("spends reservations that were not settled in time, though its user never returns (case 94)", async () => {
    const opened = openBudget({ options: { limits: { user: 1000 }, windowMs: DAY } });
    setRandom(0);
    await opened.paid(1);
    await opened.query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 249)
      INSERT INTO budget_reservations SELECT key, 'open-' || i, name, resets_at, 1, ends_at FROM budget_reservations, n`);
    vi.setSystemTime(MIDNIGHT);
    await expect.poll(() => opened.count()).toEqual([0, 0, 0, 0]);
  });
});

test("a limit in 16 keys gives each its part of the requests, with one digest for a request (case 152)", async () => {
  const { paid, query } = openBudget({ options: { limits: { all: { limit: 16_000, shards: 16 } } } });
  const digest = vi.spyOn(crypto.subtle, "digest");
  setRandom(...Array.from({ length: 16 }, (_, nth) => [nth / 16, 0]).flat());
  const count = () => query("SELECT COUNT(*) AS n FROM budget_reservations GROUP BY key");
  const all = [];
  for (let nth = 0; nth < 64; nth += 1) all.push(await paid(10));
  expect(await count()).toEqual(Array(16).fill({ n: 4 }));
  expect(digest).toHaveBeenCalledTimes(64);
  await Promise.all(all.map(({ settle }) => settle({ total_tokens: 1 })));
  expect(await query("SELECT spent FROM budget_windows")).toEqual(Array(16).fill({ spent: 4 }));
});

import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { ledger } from "./support/durable-gateway.js";
import { answersCreates, objectOf, openOnceProxy } from "./support/once.js";
import { workerdTest } from "./support/platform.js";
import type { Rows } from "./support/rows.js";

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
  ledger.answers();
  answersCreates();
});
afterEach(() => {
  vi.useRealTimers();
});

workerdTest(
  "case 105: the rows for a create are as many with none as with 100 others of its user",
  async () => {
    const { ask } = openOnceProxy();
    const rowsOf = async (name: string) =>
      runInDurableObject(await objectOf(name), (object) => ({
        ...(object as unknown as { rows: Rows }).rows,
      }));
    await ask({ key: "rows" });
    const alone = await rowsOf("rows");
    await Promise.all(Array.from({ length: 100 }, (_, nth) => ask({ key: `rows-${nth}` })));
    await ask({ key: "rows-last" });
    expect(await rowsOf("rows-last")).toEqual(alone);
    expect(alone.read).toBeLessThanOrEqual(25);
    expect(alone.written).toBeLessThanOrEqual(12);
  },
);

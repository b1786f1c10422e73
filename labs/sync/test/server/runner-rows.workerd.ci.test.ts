import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import { workerdTest } from "../../../../packages/durable/test/support/platform.js";
import type { Rows } from "../../../../packages/durable/test/support/rows.js";
import { openRunUser } from "./support/run-user.js";
import { bodies, isKeeping, runs, says, script } from "./support/runs.js";

let users = 0;
let user = "";

beforeEach(() => {
  user = `run-${++users}`;
  runs.reset();
  isKeeping.value = true;
  vi.spyOn(console, "error").mockImplementation(() => {});
  script(() => says("Hello"));
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("case 247: a step beside 10,000 messages", () => {
  /** Counts the rows of one turn beside some messages. */
  async function rowsBeside(messages: number): Promise<Rows> {
    const { ask, object, ended } = openRunUser(`${user}-${messages}`);
    for (let at = 0; at < messages; at += 900) {
      const part = Array.from({ length: Math.min(900, messages - at) }, (_, nth) => oldMessage(at + nth));
      expect(
        (await ask("POST", "/records", { device: "phone", changes: Object.fromEntries(part) })).status,
      ).toBe(200);
    }
    const rowsOf = async () =>
      runInDurableObject(await object(), (instance) => ({ ...(instance as unknown as { rows: Rows }).rows }));
    const before = await rowsOf();
    const count = runs.events.length;
    const message = { id: "q-1", role: "user", content: "Hi", createdAt: 1 };
    await ask("POST", "/turns", { device: "phone", message, parent: `m-${messages - 1}` });
    await ended(count + 1);
    const after = await rowsOf();
    return { read: after.read - before.read, written: after.written - before.written };
  }

  workerdTest(
    "It reads and writes no more rows than beside 40, and sends the newest ones alone",
    async () => {
      const few = await rowsBeside(40);
      const many = await rowsBeside(10_000);
      expect(many.read).toBeLessThanOrEqual(few.read + 20);
      expect(many.written).toBeLessThanOrEqual(few.written + 10);
      expect(bodies.map(({ messages }) => messages.length)).toEqual([20, 20]);
      expect(bodies[1]?.messages.at(-1)).toMatchObject({ content: "Hi" });
    },
  );
});

function oldMessage(nth: number): [string, object] {
  const id = `m-${nth}`;
  const role = nth % 2 ? "assistant" : "user";
  const message = { id, role, content: "x", ...(nth % 2 && { outcome: "complete" }) };
  return [id, { value: { message, parent: nth ? `m-${nth - 1}` : null, revision: 0 }, seen: 0 }];
}

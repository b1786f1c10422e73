import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { expect, test } from "vitest";
import { addNote, countUp, scheduleRuns } from "../src/testing/host-part.js";
import { type HostEnv, host } from "./fixture/host-worker.js";
import type { Rows } from "./support/rows.js";

const { SLUICE } = env as unknown as { readonly SLUICE: TestNamespace };

async function readRows(key: string): Promise<Rows> {
  const object = SLUICE.get(SLUICE.idFromName(key));
  return await runInDurableObject(object, (instance) => ({
    ...(instance as unknown as { readonly rows: Rows }).rows,
  }));
}

/** Checks for a note of the key, and counts none of the rows that this reads. */
async function hasNote(key: string, text: string): Promise<boolean> {
  const object = SLUICE.get(SLUICE.idFromName(key));
  return await runInDurableObject(object, (_, { storage }) => {
    const found = storage.sql.exec("SELECT key FROM host_test_notes WHERE text = ?", text);
    return found.toArray().length > 0;
  });
}

/** Runs an operation and a timer. Returns the rows that both have read and written. */
async function measure(bound: BoundHost, key: string, id: string): Promise<Rows> {
  const before = await readRows(key);
  await bound.run(key, countUp, null);
  await bound.run(key, scheduleRuns, { id, text: id, inMs: 0, waitFor: null });
  await expect.poll(() => hasNote(key, `end ${id} 1`)).toBe(true);
  const after = await readRows(key);
  return { read: after.read - before.read, written: after.written - before.written };
}

test("a timer reads and writes few rows, and as many with 2,000 timers more", async () => {
  const bound = host.open({ parts: [], report: () => {} })(env as unknown as HostEnv);
  const key = "rows";
  await bound.run(key, addNote, { text: "first" });
  const few = await measure(bound, key, "few");
  for (let nth = 0; nth < 2_000; nth += 1)
    await bound.run(key, scheduleRuns, { id: `${nth}`, text: "later", inMs: 86_400_000, waitFor: null });
  const many = await measure(bound, key, "many");
  expect(many.written).toBeLessThanOrEqual(few.written + 2);
  expect(few.written).toBeLessThan(30);
  expect(many.read).toBeLessThanOrEqual(few.read + 10);
});

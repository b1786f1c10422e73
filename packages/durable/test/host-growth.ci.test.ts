import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { type BoundHost, operation, type StoredPart } from "@sluice/worker-proxy/plugin";
import { Client } from "pg";
import { afterAll, expect, test } from "vitest";
import { cancelRun, countUp, hostTestPart, readNotes, scheduleRuns } from "../src/testing/host-part.js";
import { faultPart, readSum, reserve } from "./fixture/fault-part.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";

afterAll(stopPostgres);

/** Adds many rows and timers, which are due in a day. */
const grow = operation("growth.grow", async (transaction, { from, to }: { from: number; to: number }) => {
  const { key, query } = transaction;
  for (let nth = from; nth < to; nth += 1) {
    await query("INSERT INTO fault_reservations (key, id) VALUES (?, ?)", key, `${nth}`);
    const timer = {
      id: `later ${nth}`,
      at: transaction.now + 86_400_000,
      input: { text: "", waitFor: null },
    };
    await transaction.schedule(later, timer);
  }
  return null;
});
const [later] = hostTestPart.jobs as unknown as [Parameters<Parameters<typeof grow.run>[0]["schedule"]>[0]];
const growth: StoredPart = { tables: [], operations: [grow] };
const parts = [hostTestPart, faultPart, growth];

async function work(bound: BoundHost, round: string): Promise<void> {
  for (let nth = 0; nth < 200; nth += 1) {
    await bound.run("many", countUp, null);
    await bound.run("many", scheduleRuns, {
      id: `${round} ${nth}`,
      text: "",
      inMs: 86_400_000,
      waitFor: null,
    });
    await bound.run("many", cancelRun, { id: `${round} ${nth}` });
    await bound.run("many", reserve, { id: `${round} ${nth}` });
  }
}

async function measureCPU(bound: BoundHost, round: string): Promise<number> {
  const before = process.cpuUsage();
  await work(bound, round);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

test("an operation costs the same for a user with 100,000 rows and timers", async () => {
  const host = nodeHost({ file: ":memory:" });
  const bound = host.open({ parts, report: () => {} })({});
  await work(bound, "warm");
  const few = await measureCPU(bound, "few");
  for (let from = 0; from < 100_000; from += 5_000) await bound.run("many", grow, { from, to: from + 5_000 });
  const many = await measureCPU(bound, "many");
  expect((await bound.run("many", readSum, null)).rows).toBeGreaterThan(100_000);
  expect(many / few).toBeLessThan(3);
  await host.close();
});

test("a timer in Postgres is found by an index among 20,000 others", async () => {
  const url = await postgresURL();
  const host = postgresHost({ url, schema: "growth" });
  const bound = host.open({ parts, report: () => {} })({});
  for (let key = 0; key < 20; key += 1) await bound.run(`${key}`, grow, { from: 0, to: 1_000 });
  const admin = new Client({ connectionString: url });
  admin.on("error", () => {});
  await admin.connect();
  await admin.query("ANALYZE");
  const before = await readScanned();
  for (let nth = 0; nth < 50; nth += 1)
    await bound.run(`${nth}`, scheduleRuns, { id: "now", text: "now", inMs: 0, waitFor: null });
  for (let nth = 0; nth < 50; nth += 1)
    await expect.poll(() => bound.run(`${nth}`, readNotes, null)).toEqual(["begin now 1", "end now 1"]);
  await host.close();
  // one reading of the whole table has 20,000
  expect((await readScanned()) - before).toBeLessThan(15_000);
  await admin.end();

  async function readScanned(): Promise<number> {
    await admin.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await admin.query(
      "SELECT SUM(seq_tup_read)::int AS scanned FROM pg_stat_user_tables WHERE schemaname = 'growth' AND relname = 'timers'",
    );
    return rows[0].scanned as number;
  }
});

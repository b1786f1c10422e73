import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import type { Host } from "@sluice/worker-proxy";
import { type BoundHost, type Job, operation, reading, type StoredPart } from "@sluice/worker-proxy/plugin";
import { Client } from "pg";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { job, source } from "../src/host/define.js";
import {
  faultPart,
  fill,
  planInnocent,
  readIds,
  readSum,
  readTimers,
  reserve,
} from "./fixture/fault-part.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";
import { openTCPProxy } from "./support/tcp-proxy.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-host-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await stopPostgres();
});

function bind(host: Host, ...parts: StoredPart[]): BoundHost {
  return host.open({ parts: [faultPart, ...parts], report: () => {} })({});
}

const unavailable = { name: "Refusal", reason: "storage_unavailable" };

describe.each(["node", "postgres"] as const)("%s", (kind) => {
  const open = async () =>
    kind === "node" ? nodeHost({ file: ":memory:" }) : postgresHost({ url: await postgresURL() });

  test("refuses more than 1,000 waiting operations for one key, and serves other keys", async () => {
    const host = await open();
    const bound = bind(host);
    await bound.run("ready", reserve, { id: "0" });
    const all = Array.from({ length: 1_100 }, (_, nth) => bound.run("full", reserve, { id: `${nth}` }));
    const other = bound.run("other", reserve, { id: "0" });
    const ends = await Promise.allSettled(all);
    const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(refused).toHaveLength(100);
    expect(refused[0]).toMatchObject(unavailable);
    expect(await other).toBe(1);
    expect(await bound.run("full", readSum, null)).toEqual({ total: 1_000, rows: 1_000 });
    await host.close();
  });

  test("closes twice, and refuses what comes afterwards", async () => {
    const host = await open();
    const bound = bind(host);
    await bound.run("closed", reserve, { id: "0" });
    await Promise.all([host.close(), host.close()]);
    await host.close();
    await expect(bound.run("closed", reserve, { id: "1" })).rejects.toMatchObject(unavailable);
    await expect(bound.run("closed", readSum, null)).rejects.toMatchObject(unavailable);
  });

  test("creates a table once that two plugins share", async () => {
    const host = await open();
    const tables = ["CREATE TABLE IF NOT EXISTS shared (key TEXT NOT NULL PRIMARY KEY)"];
    const bound = bind(host, { tables, operations: [] }, { tables, operations: [] });
    expect(await bound.run("shared", reserve, { id: "0" })).toBe(1);
    await host.close();
  });

  test("belongs to one proxy", async () => {
    const host = await open();
    bind(host);
    expect(() => bind(host)).toThrow("belongs to one proxy");
    await host.close();
  });
});

test("a connection for notifications that fails is reported once, and made again", async () => {
  const url = new URL(await postgresURL());
  const network = await openTCPProxy(Number(url.port));
  const isCut = network.cutAt("before", "LISTEN");
  url.port = `${network.port}`;
  const host = postgresHost({ url: url.href, schema: "listening" });
  const reports: string[] = [];
  const key = "a";
  let woken = 0;
  const listen = source("limits.listen", async function* ({ subscribe, signal }) {
    const unsubscribe = subscribe(() => {
      woken += 1;
    });
    yield new Uint8Array(1);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    unsubscribe();
  });
  const publish = operation("limits.publish", async (transaction) => {
    transaction.publish();
    return null;
  });
  const part = { tables: [], operations: [publish], sources: [listen] };
  const bound = host.open({ parts: [part], report: (subject) => void reports.push(subject) })({});
  await isCut;
  await expect.poll(() => reports.filter((subject) => subject.startsWith("notifications"))).toHaveLength(1);
  const other = postgresHost({ url: await postgresURL(), schema: "listening" });
  const publisher = other.open({ parts: [part], report: () => {} })({});
  const reader = (await bound.open(key, listen, null)).getReader();
  await reader.read();
  await expect
    .poll(async () => {
      await publisher.run(key, publish, null);
      return woken;
    })
    .toBeGreaterThan(0);
  expect(reports.filter((subject) => subject.startsWith("notifications"))).toHaveLength(1);
  await reader.cancel();
  await Promise.all([host.close(), other.close()]);
  network.close();
});

test("a timer whose claim was stored, though its response was lost, runs without waiting for a lease", async () => {
  const url = new URL(await postgresURL());
  const network = await openTCPProxy(Number(url.port));
  url.port = `${network.port}`;
  const host = postgresHost({ url: url.href, schema: "claims" });
  const bound = bind(host);
  await bound.run("a", planInnocent, { id: "one" });
  // the timer is due, so that this is the commit of its claim
  await network.cutAt("after", "COMMIT");
  // a lease takes 15 s
  await expect
    .poll(() => bound.run("a", readIds, null), { timeout: 10_000 })
    .toEqual(["begin one", "end one"]);
  await host.close();
  network.close();
});

test("a database that is away for long is queried for notifications with growing pauses", async () => {
  const pauses: unknown[] = [];
  const { setTimeout } = globalThis;
  vi.stubGlobal("setTimeout", (work: () => void, ms?: number) => {
    if (new Error().stack?.includes("PostgresBus.#pause")) pauses.push(ms);
    return setTimeout(work, Math.min(ms ?? 0, 10));
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const host = postgresHost({ url: "postgres://127.0.0.1:1/away" });
  bind(host);
  await expect.poll(() => pauses.slice(0, 8)).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  await host.close();
});

test("a host that closes locks a key before its timers on Postgres, as other processes do", async () => {
  const url = await postgresURL();
  const host = postgresHost({ url, schema: "closing" });
  const bound = bind(host);
  const other = new Client({ connectionString: url });
  await other.connect();
  await bound.run("a", planInnocent, { id: "one" });
  await expect.poll(() => bound.run("a", readIds, null)).toEqual(["begin one"]);
  await other.query("BEGIN");
  await other.query(
    "INSERT INTO closing.timer_keys (key, due) VALUES ('a', 0) ON CONFLICT (key) DO UPDATE SET due = 0",
  );
  const closed = host.close(0);
  await expect
    .poll(async () => {
      const { rows } = await other.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      return rows.length;
    })
    .toBeGreaterThan(0);
  // two transactions that lock in different orders can wait for each other
  const { rowCount } = await other.query("SELECT 1 FROM closing.timers WHERE key = 'a' FOR UPDATE NOWAIT");
  expect(rowCount).toBe(1);
  await other.query("COMMIT");
  await closed;
  await other.end();
});

test("a job whose onGivenUp fails too is tried with growing pauses for about a week, and its end is reported", async () => {
  const triedAt: number[] = [];
  const stuck: Job<null> = {
    name: "limits.stuck",
    attempts: 1,
    run: () => Promise.reject(new Error("it fails")),
    onGivenUp() {
      triedAt.push(Date.now());
      return Promise.reject(new Error("the end can't be stored"));
    },
  };
  const plan = operation("limits.planStuck", async (transaction, _: null) => {
    await transaction.schedule(stuck, { id: "a", at: transaction.now, input: null });
    return null;
  });
  const readDue = reading("limits.readDue", async ({ query }, _: null) => {
    const rows = await query<{ due: number }>("SELECT due FROM timers");
    return rows.map(({ due }) => due);
  });
  vi.useFakeTimers({ now: Date.UTC(2040, 0, 1) });
  onTestFinished(() => void vi.useRealTimers());
  const host = nodeHost({ file: ":memory:" });
  const reports: string[] = [];
  const part = { tables: [], operations: [plan, readDue], jobs: [stuck] };
  const bound = host.open({ parts: [part], report: (subject) => void reports.push(subject) })({});
  await bound.run("a", plan, null);
  for (let due = [Date.now()]; due[0] !== undefined; due = [...(await bound.run("a", readDue, null))]) {
    vi.setSystemTime(due[0]);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  const pauses = triedAt.slice(1).map((at, nth) => Math.floor((at - (triedAt[nth] ?? 0)) / 1000));
  expect(pauses.slice(0, 4)).toEqual([2, 4, 8, 16]);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(3_601);
  expect((Date.now() - (triedAt[0] ?? 0)) / 86_400_000).toBeCloseTo(7, 0);
  expect(reports.slice(0, 3)).toEqual([
    "job limits.stuck, attempt 1",
    "job limits.stuck, onGivenUp 1",
    "job limits.stuck, onGivenUp 2",
  ]);
  expect(reports.at(-1)).toBe("job limits.stuck, its last onGivenUp; its timer is deleted");
  vi.useRealTimers();
  await host.close();
});

test("a file that another process has is refused with what to do", async () => {
  const file = join(folder, "shared.db");
  const [host, other] = [nodeHost({ file }), nodeHost({ file })];
  await bind(host).run("a", reserve, { id: "0" });
  expect(() => bind(other)).toThrow(/another process has .*postgresHost\(\)/);
  await host.close();
  const again = nodeHost({ file });
  expect(await bind(again).run("a", readSum, null)).toEqual({ total: 1, rows: 1 });
  await again.close();
});

test("a timer whose job was under way when the host was closed runs after the next start", async () => {
  const file = join(folder, "closed.db");
  const host = nodeHost({ file });
  const bound = bind(host);
  await bound.run("a", planInnocent, { id: "one" });
  await expect.poll(() => bound.run("a", readIds, null)).toEqual(["begin one"]);
  await host.close(0);
  const again = nodeHost({ file });
  const next = bind(again);
  await expect.poll(() => next.run("a", readIds, null)).toEqual(["begin one", "end one"]);
  await again.close();
});

test("a job that runs while its process is paused for an hour is not run again by that process", async () => {
  let runs = 0;
  let end = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const hold = job("limits.hold", 3, async () => {
    runs += 1;
    await held;
  });
  const plan = operation("limits.plan", async (transaction, _: null) => {
    await transaction.schedule(hold, { id: "a", at: transaction.now, input: null });
    return null;
  });
  const host = nodeHost({ file: ":memory:" });
  const bound = bind(host, { tables: [], operations: [plan], jobs: [hold] });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await bound.run("a", plan, null);
  await expect.poll(() => runs).toBe(1);
  vi.setSystemTime(Date.now() + 3_600_000);
  // two timers one after the other: the table was read again
  for (const id of ["first", "second"]) {
    await bound.run("b", planInnocent, { id });
    await expect.poll(() => bound.run("b", readIds, null)).toContain(`end ${id}`);
  }
  expect(runs).toBe(1);
  end();
  vi.useRealTimers();
  await host.close();
});

describe("A job whose database refuses writes", () => {
  let runs = 0;
  let end = () => {};
  const hold = job("limits.refused", 3, async () => {
    runs += 1;
    await new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const plan = operation("limits.planRefused", async (transaction, _: null) => {
    await transaction.schedule(hold, { id: "a", at: transaction.now, input: null });
    return null;
  });
  const refuse = operation("limits.refuse", async ({ query }, { isOn }: { isOn: boolean }) => {
    await query(isOn ? "INSERT INTO limits_refused (id) VALUES (1)" : "DELETE FROM limits_refused");
    return null;
  });
  const reports: string[] = [];
  let host: ReturnType<typeof nodeHost>;
  let bound: BoundHost;

  beforeEach(async () => {
    runs = 0;
    reports.length = 0;
    vi.useFakeTimers();
    host = nodeHost({ file: ":memory:" });
    const tables = ["CREATE TABLE IF NOT EXISTS limits_refused (id BIGINT NOT NULL PRIMARY KEY)"].concat(
      ["UPDATE", "DELETE"].map(
        (change) => `CREATE TRIGGER refuse_${change} BEFORE ${change} ON timers
          WHEN EXISTS (SELECT 1 FROM limits_refused) BEGIN SELECT RAISE(ABORT, 'refused'); END`,
      ),
    );
    const part = { tables, operations: [plan, refuse], jobs: [hold] };
    bound = host.open({
      parts: [faultPart, part],
      report: (subject, error) => void reports.push(`${subject}: ${error}`),
    })({});
    await bound.run("a", plan, null);
    await vi.advanceTimersByTimeAsync(1_000);
    await bound.run("a", refuse, { isOn: true });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await host.close();
  });

  test("runs once if its end can't be stored for minutes, and does not count as a crash", async () => {
    end();
    await vi.advanceTimersByTimeAsync(300_000);
    expect(reports).toContain("job limits.refused, its end could not be stored: Error: refused");
    expect(await bound.run("a", readTimers, null)).toEqual(["a"]);
    await bound.run("a", refuse, { isOn: false });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await bound.run("a", readTimers, null)).toEqual([]);
    expect(runs).toBe(1);
    expect(reports.filter((report) => report.includes("attempt"))).toEqual([]);
  });

  test("is not begun beside itself if its lease can't be renewed for minutes", async () => {
    await vi.advanceTimersByTimeAsync(300_000);
    await bound.run("a", refuse, { isOn: false });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs).toBe(1);
    end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await bound.run("a", readTimers, null)).toEqual([]);
  });
});

test("a full disk is an error that says so, and nothing is stored in part", async () => {
  const host = nodeHost({ file: join(folder, "full.db") });
  const small = { tables: ["PRAGMA max_page_count = 200"], operations: [] };
  const bound = bind(host, small);
  await bound.run("a", reserve, { id: "before" });
  const error = await bound.run("a", fill, { id: "half", bytes: 2_000_000 }).catch((thrown) => thrown);
  expect(error).toMatchObject({ ...unavailable, details: { problem: "nodeHost: the disk is full" } });
  expect(await bound.run("a", readIds, null)).toEqual(["before"]);
  expect(await bound.run("a", reserve, { id: "after" })).toBe(2);
  await host.close();
});

test("a timer runs at its time after the clock was set back", async () => {
  const host = nodeHost({ file: ":memory:" });
  const bound = bind(host);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  await bound.run("a", planInnocent, { id: "ahead" });
  await expect.poll(() => bound.run("a", readIds, null)).toHaveLength(2);
  vi.useRealTimers();
  await bound.run("a", planInnocent, { id: "back" });
  await expect.poll(() => bound.run("a", readIds, null)).toHaveLength(4);
  await host.close();
});

test("the users take turns again after a clock ran ahead for a moment", async () => {
  const host = nodeHost({ file: ":memory:" });
  const bound = bind(host);
  const ids = Array.from({ length: 24 }, (_, nth) => `${nth}`);
  await Promise.all(ids.map((id) => bound.run("a", planInnocent, { id })));
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  // eight of them run at a time
  await expect.poll(async () => (await bound.run("a", readIds, null)).length).toBeGreaterThan(16);
  vi.useRealTimers();
  await expect.poll(() => bound.run("a", readIds, null), { timeout: 10_000 }).toHaveLength(48);
  await host.close();
});

test("a timer of another version of the program waits until that version runs", async () => {
  const file = join(folder, "versions.db");
  const later = job("versions.later", 1, async () => {});
  const plan = operation("versions.plan", async (transaction, _: null) => {
    await transaction.schedule(later, { id: "a", at: transaction.now, input: null });
    return null;
  });
  const host = nodeHost({ file });
  const reports: string[] = [];
  // the plugin lists no job
  const part = { tables: [], operations: [plan] };
  const bound = host.open({ parts: [faultPart, part], report: (subject) => void reports.push(subject) })({});
  await bound.run("a", plan, null);
  await expect.poll(() => reports).toEqual(["job versions.later, attempt 1"]);
  expect(await bound.run("a", readTimers, null)).toEqual(["a"]);
  await host.close();
});

test("an operation on Postgres fails with the error of its write, and not with that of the query after it", async () => {
  const host = postgresHost({ url: await postgresURL() });
  const twice = operation("limits.twice", async ({ key, query }, _: null) => {
    const sql = "INSERT INTO limits_twice (key) VALUES (?)";
    await query(sql, key);
    await query(sql, key);
    await query("SELECT key FROM limits_twice");
    return null;
  });
  const tables = ["CREATE TABLE IF NOT EXISTS limits_twice (key TEXT NOT NULL PRIMARY KEY)"];
  const bound = bind(host, { tables, operations: [twice] });
  await expect(bound.run("a", twice, null)).rejects.toThrow("duplicate key");
  await host.close();
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import type { BoundHost, Host, StoredPart } from "@sluice/worker-proxy";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { job, operation, reading } from "../src/host/define.js";
import { faultPart, fill, planInnocent, readIds, readSum, reserve } from "./fixture/fault-part.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";

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

  test("refuses what is more than 1,000 operations that wait for one key, and serves others", async () => {
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

test("a user with many timers keeps the turn after a clock that was ahead for a moment", async () => {
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

test("a job that an earlier version of the program had waits for one that has it", async () => {
  const file = join(folder, "versions.db");
  const run = reading("versions.runs", async ({ key, query }, _: null) => {
    const rows = await query<{ failed_at: number | null }>("SELECT failed_at FROM timers WHERE key = ?", key);
    return rows.map(({ failed_at }) => failed_at);
  });
  const later = job("versions.later", 1, async () => {});
  const plan = operation("versions.plan", async (transaction, _: null) => {
    await transaction.schedule(later, { id: "a", at: transaction.now, input: null });
    return null;
  });
  const host = nodeHost({ file });
  const reports: string[] = [];
  // the plugin lists no job
  const part = { tables: [], operations: [run, plan] };
  const bound = host.open({ parts: [part], report: (subject) => void reports.push(subject) })({});
  await bound.run("a", plan, null);
  await expect.poll(() => reports).toEqual(["job versions.later"]);
  expect(await bound.run("a", run, null)).toEqual([null]);
  await host.close();
});

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { ObjectStorage } from "@sluice/durable";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** The storage of a Durable Object, as the platform and a test see it. */
export interface SimulatedStorage extends ObjectStorage {
  /** Waits until all writes are on the disk. No response leaves an object before. */
  flushed(): Promise<void>;
  /** Takes back the writes that are not on the disk, as a crash does. */
  rollBack(): void;
  /** Clears the alarm that is about to run, and sets another one if it fails. */
  takeAlarm(): void;
  hasTable(name: string): boolean;
  /** Returns the rows of a query that writes nothing. */
  rowsOf(query: string): Record<string, unknown>[];
}

/** The part of a storage without SQL. */
interface Records {
  readonly values: ReadonlyMap<string, unknown>;
  readonly alarmAt: number | null;
}

/**
 * Creates the storage of one Durable Object. As on the platform, calls are synchronous, and the writes since the last
 * flush are one transaction, with those of the alarm: a crash takes back all of them or none.
 *
 * @param onAlarm called at the time of the alarm that is on the disk
 */
export function createObjectStorage(
  timeline: Timeline,
  random: Random,
  now: () => number,
  onAlarm: () => void,
): SimulatedStorage {
  const database = new DatabaseSync(":memory:");
  const statements = new Map<string, StatementSync>();
  let records: Records = { values: new Map(), alarmAt: null };
  let safe = records;
  let flushing: { readonly cancel: () => void; readonly done: Promise<void> } | undefined;
  let cancelAlarm = () => {};

  return {
    get: async <Value>(key: string) => structuredClone(records.values.get(key)) as Value | undefined,
    put: async (key, value) => change({ values: new Map(records.values).set(key, structuredClone(value)) }),
    getAlarm: async () => records.alarmAt,
    setAlarm: async (at) => change({ alarmAt: at }),
    deleteAlarm: async () => change({ alarmAt: null }),
    sync: async () => flushing?.done,
    async deleteAll() {
      change({ values: new Map() });
      for (const { name } of run("SELECT name FROM sqlite_master WHERE type = 'table'"))
        run(`DROP TABLE ${name}`);
    },
    sql: {
      exec(query, ...bindings) {
        if (!query.startsWith("SELECT")) startTransaction();
        const rows = run(query, bindings);
        return { toArray: () => rows };
      },
    },
    hasTable: (name) => run("SELECT 1 FROM sqlite_master WHERE name = ?", [name]).length > 0,
    rowsOf: (query) => run(query),
    flushed: async () => flushing?.done,
    rollBack() {
      if (!flushing) return;
      flushing.cancel();
      flushing = undefined;
      database.exec("ROLLBACK");
      records = safe;
    },
    takeAlarm() {
      records = { ...records, alarmAt: null };
      safe = { ...safe, alarmAt: null };
    },
  };

  function run(query: string, bindings: readonly unknown[] = []): Record<string, unknown>[] {
    const statement = statements.get(query) ?? database.prepare(query);
    statements.set(query, statement);
    return statement.all(...(bindings as SQLInputValue[]));
  }

  function change(changes: Partial<Records>): void {
    startTransaction();
    records = { ...records, ...changes };
  }

  /** Begins a transaction, unless there is one; it ends some milliseconds later. */
  function startTransaction(): void {
    if (flushing) return;
    database.exec("BEGIN");
    let resolve = () => {};
    const done = new Promise<void>((resolveDone) => {
      resolve = resolveDone;
    });
    const flush = () => {
      flushing = undefined;
      database.exec("COMMIT");
      const isAlarmNew = records.alarmAt !== safe.alarmAt;
      safe = records;
      if (isAlarmNew) schedule(records.alarmAt);
      resolve();
    };
    flushing = { cancel: timeline.after(pickBetween(random, 1, 5), flush), done };
  }

  function schedule(alarmAt: number | null): void {
    cancelAlarm();
    if (alarmAt !== null) cancelAlarm = timeline.after(alarmAt - now(), onAlarm);
  }
}

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** The storage of a Durable Object, as the platform and a test see it. */
export interface SimulatedStorage {
  readonly sql: {
    exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] };
  };
  /** Stores all writes of `work`, or none if it throws. No other event is delivered during `work`. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
  deleteAlarm(): Promise<void>;
  sync(): Promise<void>;
  deleteAll(): Promise<void>;
  /** Waits until no transaction is open. */
  idle(): Promise<void>;
  /** Waits until all writes are on the disk. An object's responses wait for that. */
  flushed(): Promise<void>;
  /** Reverts the writes that are not on the disk, as a crash does. */
  rollBack(): void;
  /** Clears the alarm before the platform runs it. The change is on the disk immediately. */
  clearDueAlarm(): void;
  /** Returns the rows of a query that writes nothing. */
  readRows(query: string): Record<string, unknown>[];
}

/**
 * Creates the storage of one Durable Object. As on the platform, calls are synchronous. All writes since the last flush
 * and the change of the alarm are one transaction: a crash reverts all of them or none.
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
  let alarmAt = null as number | null;
  let safeAlarmAt = alarmAt;
  /** Resolves after the open transaction and all transactions that wait for it. */
  let last: Promise<unknown> = Promise.resolve();
  /** Number of transactions that are open or wait. */
  let open = 0;
  let flushing: { readonly cancel: () => void; readonly done: Promise<void> } | undefined;
  let cancelAlarm = () => {};

  return {
    getAlarm: async () => alarmAt,
    setAlarm: async (at) => changeAlarm(at),
    deleteAlarm: async () => changeAlarm(null),
    sync: async () => flushing?.done,
    async deleteAll() {
      changeAlarm(null);
      for (const { name } of run("SELECT name FROM sqlite_master WHERE type = 'table'"))
        run(`DROP TABLE ${name}`);
    },
    transaction(work) {
      open += 1;
      const result = last
        .then(() => transact(work))
        .finally(() => {
          open -= 1;
        });
      last = result.catch(() => {});
      return result;
    },
    async idle() {
      while (open > 0) await last;
    },
    sql: {
      exec(query, ...bindings) {
        if (!query.startsWith("SELECT")) startTransaction();
        const rows = run(query, bindings);
        return { toArray: () => rows };
      },
    },
    readRows: (query) => run(query),
    flushed: async () => flushing?.done,
    rollBack() {
      if (!flushing) return;
      flushing.cancel();
      flushing = undefined;
      database.exec("ROLLBACK");
      alarmAt = safeAlarmAt;
    },
    clearDueAlarm() {
      alarmAt = null;
      safeAlarmAt = null;
    },
  };

  function run(query: string, bindings: readonly unknown[] = []): Record<string, unknown>[] {
    const statement = statements.get(query) ?? database.prepare(query);
    statements.set(query, statement);
    return statement.all(...(bindings as SQLInputValue[]));
  }

  function changeAlarm(at: number | null): void {
    startTransaction();
    alarmAt = at;
  }

  /** Runs one transaction, which awaits only queries. Its writes are on the disk after the next flush. */
  async function transact<T>(work: () => Promise<T>): Promise<T> {
    startTransaction();
    const before = alarmAt;
    database.exec("SAVEPOINT own");
    try {
      const output = await work();
      database.exec("RELEASE own");
      return output;
    } catch (error) {
      database.exec("ROLLBACK TO own; RELEASE own");
      alarmAt = before;
      throw error;
    }
  }

  /** Begins a transaction, unless one is open. Its writes are on the disk some milliseconds later. */
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
      const isAlarmNew = alarmAt !== safeAlarmAt;
      safeAlarmAt = alarmAt;
      if (isAlarmNew) schedule(alarmAt);
      resolve();
    };
    flushing = { cancel: timeline.after(pickBetween(random, 1, 5), flush), done };
  }

  function schedule(at: number | null): void {
    cancelAlarm();
    if (at !== null) cancelAlarm = timeline.after(at - now(), onAlarm);
  }
}

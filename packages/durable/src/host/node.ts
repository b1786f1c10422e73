import { DatabaseSync, type StatementSync } from "node:sqlite";
import { ensure, type SQL, type Value } from "@sluice/worker-proxy/plugin";
import { Listeners } from "./listeners.js";
import {
  type ClosableHost,
  createProcessHost,
  type DatabaseSetup,
  type ProcessDatabase,
} from "./process-host.js";
import { Queues } from "./queues.js";
import type { Query } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import { EARLIER, TimerRows } from "./timer-rows.js";
import { checkValues, readSQL } from "./values.js";

/** Options of {@link nodeHost}. */
export interface NodeHostOptions {
  /** Path of the SQLite file, or `:memory:`. Only one process can use the file at a time. */
  readonly file: string;
  /** The environment of jobs, as `createProxy` passes it to its options. @default process.env */
  readonly env?: unknown;
}

/** Maximum number of prepared statements. It protects memory from a plugin that builds statements dynamically. */
const MAX_STATEMENTS = 1_000;

/**
 * Creates a host that stores the data of plugins in one SQLite file, for one process. Unfinished jobs of timers run
 * again after a restart.
 *
 * @throws {TypeError} for a missing option. `createProxy` throws an `Error` if another process has the file open
 * @example
 * ```ts
 * import { nodeHost } from "@sluice/durable/node";
 *
 * const host = nodeHost({ file: "sluice.db" });
 * process.once("SIGTERM", () => host.close());
 * // createProxy({ ...options, host, plugins: [budget({ … })] })
 * ```
 */
export function nodeHost<Env = unknown>(options: NodeHostOptions): ClosableHost<Env> {
  const { file, env = process.env } = options ?? {};
  ensure(typeof file === "string" && file !== "", 'nodeHost: file: give a path, "sluice.db", or ":memory:"');
  return createProcessHost("nodeHost", env, (setup) => new SQLiteDatabase(file, setup));
}

// a delay, so that a process whose first job ends it can still serve requests
const RECOVER = "UPDATE timers SET due = ? + 1000 * deaths WHERE run IS NOT NULL";
const RECOVER_KEYS = `INSERT INTO timer_keys (key, due) SELECT key, MIN(due) FROM timers WHERE run IS NOT NULL GROUP BY key
  ${EARLIER}`;

class SQLiteDatabase implements ProcessDatabase {
  readonly rows = new TimerRows(true);
  readonly listeners: Listeners;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #queues = new Queues(true);
  #isClosed = false;

  constructor(file: string, { tables, report }: DatabaseSetup) {
    this.listeners = new Listeners((error) => report("a listener", error));
    const all = [...this.rows.tables, ...tables].map((sql) => readSQL(sql, "sqlite"));
    this.#database = openFile(file, all);
    const recovered = this.transact(null, (query, now) => this.#recover(query, now));
    recovered.catch((error) => report("timers of the last process", error));
  }

  read<Result>(key: string, work: (query: Query) => Promise<Result>): Promise<Result> {
    return this.#runAlone(key, () => work(this.#query));
  }

  transact<Result>(
    key: string | null,
    work: (query: Query, now: number) => Promise<Result>,
  ): Promise<Result> {
    return this.#runAlone(key ?? "", async () => {
      await this.#query("BEGIN IMMEDIATE");
      try {
        const output = await work(this.#query, Date.now());
        await this.#query("COMMIT");
        return output;
      } catch (error) {
        // a full disk may have rolled back the transaction already
        if (this.#database.isTransaction) await this.#query("ROLLBACK");
        throw error;
      }
    });
  }

  /** Makes all running attempts due soon. Only this process uses the file, so the process of each attempt has ended. */
  async #recover(query: Query, now: number): Promise<void> {
    await query(RECOVER, now);
    await query(RECOVER_KEYS);
    await this.rows.repair(query, now);
  }

  publish(key: string): void {
    this.listeners.notify(key);
  }

  close(): Promise<void> {
    return this.#runAlone("", async () => {
      this.#isClosed = true;
      this.#database.close();
    });
  }

  readonly #query: Query = async <Row>(given: SQL, ...values: readonly Value[]): Promise<readonly Row[]> => {
    const sql = readSQL(given, "sqlite");
    let statement = this.#statements.get(sql);
    if (!statement) {
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement.all(...checkValues(values)) as Row[];
  };

  /** Runs operations one at a time, because all share one connection and other code runs at each `await`. */
  #runAlone<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    return this.#queues.run(key, async () => {
      if (this.#isClosed) throw createStorageError("nodeHost: it is closed");
      try {
        return await work();
      } catch (error) {
        throw describeFailure(error);
      }
    });
  }
}

/**
 * Locks the file. With FULL a commit survives a power cut; with NORMAL it survives only the end of the process. Each is a
 * prepared statement, because Deno's `exec` throws errors without SQLite's code.
 */
const OPENING = [
  "PRAGMA locking_mode = EXCLUSIVE",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = FULL",
  "BEGIN IMMEDIATE",
];

/** Opens the file with an exclusive lock, because timers would run twice in two processes. */
function openFile(file: string, tables: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    for (const sql of OPENING) database.prepare(sql).run();
    for (const table of tables) database.exec(table);
    database.exec("COMMIT");
    return database;
  } catch (cause) {
    database.close();
    if (readCode(cause) !== SQLITE_BUSY) throw cause;
    throw new Error(
      `nodeHost: another process has ${file}; stop that one, or use postgresHost() for several processes`,
      { cause },
    );
  }
}

const SQLITE_BUSY = 5;
/** Primary result codes of SQLite for failures of a disk or a file, with their meaning. */
const FAILURES: ReadonlyMap<number, string> = new Map([
  [SQLITE_BUSY, "another process has the file"],
  [6, "the file is locked"],
  [8, "the file can't be written"],
  [10, "the disk failed"],
  [11, "the file is damaged"],
  [13, "the disk is full"],
  [14, "the file can't be opened"],
  [26, "the file is not a database"],
]);

function readCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: unknown };
  // the upper bits hold details of the code
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Turns an error of the disk or file into a refusal. Returns errors of the operation unchanged. */
function describeFailure(error: unknown): unknown {
  const failure = FAILURES.get(readCode(error) ?? 0);
  return failure ? createStorageError(`nodeHost: ${failure}`, error) : error;
}

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { BoundHost, HostSetup, JobContext, Reader, Value } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import { type ClosableHost, createClosableHost } from "./closable.js";
import { Listeners } from "./listeners.js";
import { LocalJobs } from "./local-jobs.js";
import { indexParts } from "./named-steps.js";
import { Queues } from "./queues.js";
import { runOperation, runReading } from "./run-operation.js";
import { refuseNested } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import { TimerLoop } from "./timer-loop.js";
import { TimerRows } from "./timer-rows.js";
import { type TimerPlace, Timers } from "./timers.js";
import { checkKey, checkValues } from "./values.js";

type Query = Reader["query"];

/** Options of {@link nodeHost}. */
export interface NodeHostOptions {
  /** Path of the SQLite file, or `:memory:`. One process uses it at a time. */
  readonly file: string;
  /** The environment of jobs, as `createProxy` passes it to its options. @default process.env */
  readonly env?: unknown;
}

/** Number of prepared statements. A plugin has a fixed number; one that builds them anew must not fill the memory. */
const MAX_STATEMENTS = 1_000;

/**
 * Stores what plugins store in one SQLite file, for one process. After a restart, jobs that were under way run again.
 *
 * @throws {TypeError} when an option is missing. `createProxy` throws an `Error` if another process has the file
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
  return createClosableHost((setup) => new SQLiteHost(file, setup, env));
}

class SQLiteHost implements BoundHost {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #queues = new Queues(true);
  readonly #rows = new TimerRows({ hasKeys: true, isShared: false });
  readonly #report: (subject: string, error: unknown) => void;
  readonly #listeners: Listeners;
  readonly #local: LocalJobs;
  readonly #loop: TimerLoop;
  readonly #env: unknown;
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(file: string, { parts, report }: HostSetup<never>, env: unknown) {
    this.#env = env;
    this.#report = (subject, error) => report(subject, error, env as never);
    indexParts(parts);
    this.#database = openFile(file, [...this.#rows.tables, ...parts.flatMap(({ tables }) => tables)]);
    this.#listeners = new Listeners((error) => this.#report("a listener", error));
    this.#local = new LocalJobs(this.#createContext, this.#report);
    const place: TimerPlace = {
      transact: (key, work) => this.#transact(key ?? "", () => work(this.#query, Date.now())),
      createContext: this.#createContext,
      report: this.#report,
      onSchedule: (at) => this.#loop.wake(at),
    };
    // this process is the only one: an attempt that is stored as running has ended
    const recovered = place.transact(null, (query, now) => this.#rows.recover(query, now));
    recovered.catch((error) => this.#report("timers of the last process", error));
    const timers = new Timers(this.#rows, place, parts);
    this.#loop = new TimerLoop(timers, (error) => this.#report("timers", error));
  }

  run: BoundHost["run"] = async (key, step, input) => {
    refuseNested(`run "${step.name}"`);
    checkKey(key);
    if (step.kind === "read") return await this.#alone(key, () => runReading(key, step, input, this.#query));
    const { output, isPublished, wakeAt } = await this.#transact(key, () =>
      runOperation(key, step, input, { query: this.#query, now: Date.now(), rows: this.#rows }),
    );
    this.#loop.wake(wakeAt);
    if (isPublished) this.#listeners.notify(key);
    return output;
  };

  start: BoundHost["start"] = async (key, job, input) => {
    refuseNested(`start job "${job.name}"`);
    this.#checkOpen();
    void this.#local.start(checkKey(key), job, input);
  };

  open: BoundHost["open"] = async (key, source, input) => {
    refuseNested(`open source "${source.name}"`);
    this.#checkOpen();
    return this.#local.open(checkKey(key), source, input);
  };

  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    const ended = await Promise.allSettled([this.#loop.close(withinMs), this.#local.close(withinMs)]);
    for (const end of ended) if (end.status === "rejected") this.#report("close", end.reason);
    await this.#alone("", async () => {
      this.#isClosed = true;
      this.#database.close();
    });
  }

  #checkOpen(): void {
    if (this.#closing) throw createStorageError("nodeHost: it is closed");
  }

  readonly #createContext = (key: string, attempt: number, signal: AbortSignal): JobContext => ({
    host: this,
    key,
    attempt,
    signal,
    env: this.#env,
    subscribe: (listener) => this.#listeners.add(key, listener),
  });

  readonly #query: Query = async <Row>(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> => {
    let statement = this.#statements.get(sql);
    if (!statement) {
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement.all(...checkValues(values)) as Row[];
  };

  /** One at a time: there is one connection, and each `await` of an operation lets others run. */
  #alone<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    return this.#queues.run(key, async () => {
      if (this.#isClosed) throw createStorageError("nodeHost: it is closed");
      try {
        return await work();
      } catch (error) {
        throw describeFailure(error);
      }
    });
  }

  #transact<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    return this.#alone(key, async () => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const output = await work();
        this.#database.exec("COMMIT");
        return output;
      } catch (error) {
        // a full disk may have ended it already
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    });
  }
}

/** Opens the file for this process alone: timers that two processes have would run twice. */
function openFile(file: string, tables: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    // FULL: a commit outlives a power cut; NORMAL outlives only the end of the process
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    database.exec("BEGIN IMMEDIATE");
    for (const table of tables) database.exec(table);
    database.exec("COMMIT");
    return database;
  } catch (cause) {
    database.close();
    if (codeOf(cause) !== SQLITE_BUSY) throw cause;
    throw new Error(
      `nodeHost: another process has ${file}; stop that one, or use postgresHost() for several processes`,
      { cause },
    );
  }
}

const SQLITE_BUSY = 5;
/** Primary result codes of SQLite for a disk or a file that fails, and what they are. */
const FAILURES: ReadonlyMap<number, string> = new Map([
  [SQLITE_BUSY, "another process has the file"],
  [6, "the file is locked"],
  [8, "the file can't be written"],
  [10, "the disk failed"],
  [11, "the file is damaged"],
  [13, "the disk is full"],
  [14, "the file can't be opened"],
  [26, "the file is no database"],
]);

function codeOf(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { readonly errcode?: unknown };
  // the upper bits are details
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Turns an error of the disk into a refusal; an error of the operation stays as it is. */
function describeFailure(error: unknown): unknown {
  const failure = FAILURES.get(codeOf(error) ?? 0);
  return failure ? createStorageError(`nodeHost: ${failure}`, error) : error;
}

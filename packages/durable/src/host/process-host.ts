import type { BoundHost, Host, HostSetup, JobContext, SQL } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import type { Listeners } from "./listeners.js";
import { LocalJobs } from "./local-jobs.js";
import { indexParts } from "./named-steps.js";
import { type Query, refuseNested, runOperation, runReading } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import type { TimerRows } from "./timer-rows.js";
import { type TimerHost, TimerLoop, Timers } from "./timers.js";
import { checkKey } from "./values.js";

/** A host that has connections or a file open. */
export interface ClosableHost<Env = unknown> extends Host<Env> {
  /**
   * Waits for running jobs, for 10 s by default, and closes the database. Jobs that have not ended run again after the next
   * start. A second call does the same as the first.
   */
  close(withinMs?: number): Promise<void>;
}

/** The database of a host in a process of Node: SQLite or Postgres. */
export interface ProcessDatabase {
  readonly rows: TimerRows;
  readonly listeners: Listeners;
  read<Result>(key: string, work: (query: Query) => Promise<Result>): Promise<Result>;
  /**
   * Runs a transaction.
   *
   * @param key no other transaction of this key runs at the same time; null for a transaction that locks rows
   */
  transact<Result>(key: string | null, work: (query: Query, now: number) => Promise<Result>): Promise<Result>;
  /** Calls the listeners of a key, in every process. */
  publish(key: string): void;
  close(): Promise<void>;
}

/** The values that open a database. */
export interface DatabaseSetup {
  /** Statements that create the tables of all plugins. */
  readonly tables: readonly SQL[];
  report(subject: string, error: unknown): void;
}

/** Longest wait for jobs when a host closes. */
const DRAIN_MS = 10_000;

/** Creates a host whose jobs run in this process. It opens its database for one proxy, and closes it. */
export function createProcessHost<Env>(
  name: string,
  env: unknown,
  openDatabase: (setup: DatabaseSetup) => ProcessDatabase,
): ClosableHost<Env> {
  let opened: ProcessHost | undefined;
  return {
    open(setup) {
      ensure(!opened, "host: belongs to one proxy; make another one");
      const host = new ProcessHost(name, env, setup as HostSetup<never>, openDatabase);
      opened = host;
      return () => host;
    },
    close: async (withinMs = DRAIN_MS) => opened?.close(withinMs),
  };
}

class ProcessHost implements BoundHost {
  readonly #name: string;
  readonly #env: unknown;
  readonly #report: DatabaseSetup["report"];
  readonly #database: ProcessDatabase;
  readonly #local: LocalJobs;
  readonly #loop: TimerLoop;
  #closing: Promise<void> | undefined;

  constructor(
    name: string,
    env: unknown,
    { parts, report }: HostSetup<never>,
    openDatabase: (setup: DatabaseSetup) => ProcessDatabase,
  ) {
    this.#name = name;
    this.#env = env;
    this.#report = (subject, error) => report(subject, error, env as never);
    const { jobs } = indexParts(parts);
    const tables = parts.flatMap((part) => part.tables);
    this.#database = openDatabase({ tables, report: this.#report });
    const timerHost: TimerHost = {
      transact: (key, work) => this.#database.transact(key, work),
      createContext: this.#createContext,
      report: this.#report,
      onSchedule: (at) => this.#loop.wake(at),
    };
    this.#local = new LocalJobs(this.#createContext, this.#report);
    const timers = new Timers(this.#database.rows, timerHost, jobs);
    this.#loop = new TimerLoop(timers, (error) => this.#report("timers", error));
  }

  run: BoundHost["run"] = async (key, step, input) => {
    refuseNested(`run "${step.name}"`);
    checkKey(key);
    const { rows } = this.#database;
    if (step.kind === "read")
      return await this.#database.read(key, (query) => runReading(key, step, input, query));
    const { output, isPublished, wakeAt } = await this.#database.transact(key, (query, now) =>
      runOperation(key, step, input, { query, now, rows }),
    );
    this.#loop.wake(wakeAt);
    if (isPublished) this.#database.publish(key);
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
    await this.#database.close();
  }

  #checkOpen(): void {
    if (this.#closing) throw createStorageError(`${this.#name}: it is closed`);
  }

  readonly #createContext = (key: string, attempt: number, signal: AbortSignal): JobContext => ({
    host: this,
    key,
    attempt,
    signal,
    env: this.#env,
    subscribe: (listener) => this.#database.listeners.add(key, listener),
  });
}

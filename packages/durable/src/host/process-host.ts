import type { Host } from "@sluice/worker-proxy";
import { type BoundHost, ensure, type JobContext, type SQL } from "@sluice/worker-proxy/plugin";
import type { Listeners } from "./listeners.js";
import { LocalJobs } from "./local-jobs.js";
import { indexParts } from "./named-steps.js";
import { type Query, refuseNested, runOperation, runReading } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import type { TimerRows } from "./timer-rows.js";
import { TimerLoop, Timers } from "./timers.js";
import { checkKey } from "./values.js";

/** A host with open connections or an open file. */
export interface ClosableHost<Env = unknown> extends Host<Env> {
  /**
   * Waits for running jobs and closes the database. Jobs of timers that have not ended run again after the next start.
   * A second call waits for the first.
   *
   * @param withinMs maximum wait for jobs, in milliseconds; 10,000 by default
   */
  close(withinMs?: number): Promise<void>;
}

/** The database of a process or a Durable Object. */
export interface LocalDatabase {
  readonly rows: TimerRows;
  readonly listeners: Listeners;
  read<Result>(key: string, work: (query: Query) => Promise<Result>): Promise<Result>;
  /**
   * Runs a transaction.
   *
   * @param key transactions of one key run one at a time; null for a transaction that locks rows itself
   */
  transact<Result>(key: string | null, work: (query: Query, now: number) => Promise<Result>): Promise<Result>;
  /** Called at the end of a transaction that stores a timer. */
  setAlarm?(): Promise<void>;
  /** Calls the listeners of a key, in every process. */
  publish(key: string): void;
}

/** The database of a process. */
export interface ProcessDatabase extends LocalDatabase {
  close(): Promise<void>;
}

/** The input for opening a database. */
export interface DatabaseSetup {
  /** Statements that create the tables of all plugins. */
  readonly tables: readonly SQL[];
  report(subject: string, error: unknown): void;
}

/** The environment of a {@link LocalHost}. */
interface LocalPlace {
  readonly database: LocalDatabase;
  readonly env: unknown;
  report(subject: string, error: unknown): void;
  /** Called after an operation with the time of its earliest timer; infinite without a timer. */
  onSchedule(at: number): void;
  /** Called after a job was started, with a promise of its end. */
  onStart?(ended: Promise<void>): Promise<void>;
  /** @throws {Refusal} if the host is closed */
  checkOpen?(): void;
  /** Returns the host of a key that another object stores. @default all keys are stored here */
  findOther?(key: string): BoundHost | undefined;
}

/** Maximum wait for jobs when a host closes, in milliseconds. */
const DRAIN_MS = 10_000;

/** A host that runs the jobs and sources of its keys locally, in a process or a Durable Object. */
export class LocalHost implements BoundHost {
  readonly local: LocalJobs;
  readonly #place: LocalPlace;

  constructor(place: LocalPlace) {
    this.#place = place;
    this.local = new LocalJobs(this.createContext, place.report);
  }

  readonly createContext = (key: string, attempt: number, signal: AbortSignal): JobContext => ({
    host: this,
    key,
    attempt,
    signal,
    env: this.#place.env,
    subscribe: (listener) => this.#place.database.listeners.add(key, listener),
  });

  run: BoundHost["run"] = async (key, step, input) => {
    refuseNested(`run "${step.name}"`);
    const { database, onSchedule } = this.#place;
    const other = this.#findOther(key);
    if (other) return await other.run(key, step, input);
    if (step.kind === "read") return await database.read(key, (query) => runReading(key, step, input, query));
    const { output, isPublished, wakeAt } = await database.transact(key, async (query, now) => {
      const ran = await runOperation(key, step, input, { query, now, rows: database.rows });
      if (Number.isFinite(ran.wakeAt)) await database.setAlarm?.();
      return ran;
    });
    onSchedule(wakeAt);
    if (isPublished) database.publish(key);
    return output;
  };

  start: BoundHost["start"] = async (key, job, input) => {
    refuseNested(`start job "${job.name}"`);
    const other = this.#findOther(key);
    if (other) return await other.start(key, job, input);
    this.#place.checkOpen?.();
    const ended = this.local.start(key, job, input);
    await this.#place.onStart?.(ended);
  };

  open: BoundHost["open"] = async (key, source, input) => {
    refuseNested(`open source "${source.name}"`);
    const other = this.#findOther(key);
    if (other) return await other.open(key, source, input);
    this.#place.checkOpen?.();
    return this.local.open(key, source, input);
  };

  #findOther(key: string): BoundHost | undefined {
    checkKey(key);
    return this.#place.findOther?.(key);
  }
}

/** Creates a host whose jobs run in this process. It opens its database for one proxy, and can close it. */
export function createProcessHost<Env>(
  name: string,
  env: unknown,
  openDatabase: (setup: DatabaseSetup) => ProcessDatabase,
): ClosableHost<Env> {
  let close: ((withinMs: number) => Promise<void>) | undefined;
  let closing: Promise<void> | undefined;
  return {
    open({ parts, report: reportTo }) {
      ensure(!close, "host: belongs to one proxy; make another one");
      const report: DatabaseSetup["report"] = (subject, error) => reportTo(subject, error, env as Env);
      const { jobs } = indexParts(parts);
      const database = openDatabase({ tables: parts.flatMap(({ tables }) => tables), report });
      const onSchedule = (at: number) => loop.wake(at);
      const checkOpen = () => {
        if (closing) throw createStorageError(`${name}: it is closed`);
      };
      const host = new LocalHost({ database, env, report, onSchedule, checkOpen });
      const { createContext, local } = host;
      const { rows } = database;
      const timers = new Timers(rows, { database, createContext, report, onSchedule }, jobs);
      const loop = new TimerLoop(timers, (error) => report("timers", error));
      close = async (withinMs) => {
        const ended = await Promise.allSettled([loop.close(withinMs), local.close(withinMs)]);
        for (const end of ended) if (end.status === "rejected") report("close", end.reason);
        await database.close();
      };
      return () => host;
    },
    async close(withinMs = DRAIN_MS) {
      closing ??= close?.(withinMs);
      await closing;
    },
  };
}

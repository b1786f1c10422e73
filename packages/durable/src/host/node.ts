import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { BoundHost, Host, HostSetup, JobContext, Operation, Reading, Value } from "@sluice/worker-proxy";
import { byteStream } from "./byte-stream.js";
import { Listeners } from "./listeners.js";
import { Queues } from "./queues.js";
import { TIMER_TABLES, TimerLoop, type TimerOptions, Timers, timerMethods } from "./timers.js";
import { checkKey, checkValues } from "./values.js";

/** Options of {@link nodeHost}. */
export interface NodeHostOptions {
  /** Path of the SQLite file, or `:memory:`. One process uses it at a time. */
  readonly file: string;
  /** The environment of jobs, as `createProxy` passes it to its options. @default process.env */
  readonly env?: unknown;
}

const TIMERS: TimerOptions = { leaseMs: 30_000, pollMs: 1_000 };

/** Stores what plugins store in one SQLite file, for one process. */
export function nodeHost<Env = unknown>({
  file,
  env = process.env,
}: NodeHostOptions): Host<Env> & { close(): Promise<void> } {
  let bound: SQLiteHost | undefined;
  return {
    open(setup) {
      if (bound) throw new TypeError("host: belongs to one proxy; make another one");
      const opened = new SQLiteHost(file, setup as HostSetup<never>, env);
      bound = opened;
      return () => opened;
    },
    close: async () => bound?.close(),
  };
}

class SQLiteHost implements BoundHost {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #listeners = new Listeners();
  readonly #queues = new Queues();
  readonly #loop: TimerLoop;
  readonly #report: (subject: string, error: unknown) => void;
  readonly #env: unknown;

  constructor(file: string, { parts, report }: HostSetup<never>, env: unknown) {
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#env = env;
    this.#report = (subject, error) => report(subject, error, env as never);
    // FULL: a commit outlives a power cut; NORMAL outlives only the end of the process
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    for (const table of [...TIMER_TABLES, ...parts.flatMap(({ tables }) => tables)])
      this.#database.exec(table);
    const timers = new Timers(
      (work) => this.#transact(() => work(this.#query, Date.now())),
      this.#contextOf,
      parts,
      this.#report,
      TIMERS,
    );
    this.#loop = new TimerLoop(timers, TIMERS);
  }

  run: BoundHost["run"] = async <Input, Output>(
    key: string,
    operation: Operation<Input, Output> | Reading<Input, Output>,
    input: Input,
  ) => {
    checkKey(key);
    const query = this.#query;
    if (operation.kind === "read") return this.#alone(() => operation.run({ key, query }, input));
    let isPublished = false;
    let wakeAt = Number.POSITIVE_INFINITY;
    const publish = () => {
      isPublished = true;
    };
    const timers = timerMethods(key, query, (at) => {
      wakeAt = Math.min(wakeAt, at);
    });
    const output = await this.#transact(() =>
      operation.run({ key, now: Date.now(), query, publish, ...timers }, input),
    );
    this.#loop.wake(wakeAt);
    if (isPublished) this.#listeners.notify(key);
    return output;
  };

  start: BoundHost["start"] = async (key, job, input) => {
    void job.run(this.#contextOf(key, 0), input).catch((error) => this.#report(`job ${job.name}`, error));
  };

  open: BoundHost["open"] = async (key, source, input) =>
    byteStream(source.run(this.#contextOf(key, 0), input));

  async close(): Promise<void> {
    await this.#loop.close();
    await this.#alone(async () => this.#database.close());
  }

  readonly #contextOf = (key: string, attempt: number): JobContext => ({
    host: this,
    key,
    attempt,
    env: this.#env,
    subscribe: (listener) => this.#listeners.add(key, listener),
  });

  readonly #query = async <Row>(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> => {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement.all(...checkValues(values)) as Row[];
  };

  /** One at a time: there is one connection, and each `await` of an operation lets others run. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queues.run("", work);
  }

  #transact<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#alone(async () => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const output = await work();
        this.#database.exec("COMMIT");
        return output;
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    });
  }
}

import type { Job, JobContext, JSONValue, StoredPart, Timer, Transaction, Value } from "@sluice/worker-proxy";

/** Tables of the timers. `due` is null once all attempts have failed: such rows are the list of failed jobs. */
export const TIMER_TABLES = [
  `CREATE TABLE IF NOT EXISTS timers (key TEXT NOT NULL, job TEXT NOT NULL, id TEXT NOT NULL, due BIGINT,
    attempts BIGINT NOT NULL, input TEXT NOT NULL, error TEXT, PRIMARY KEY (key, job, id))`,
  "CREATE INDEX IF NOT EXISTS timers_due ON timers (due)",
];

/** Reads the time of the next timer. */
export const NEXT = "SELECT MIN(due) AS due FROM timers";

const SCHEDULE = `INSERT INTO timers (key, job, id, due, attempts, input) VALUES (?, ?, ?, ?, 0, ?)
  ON CONFLICT (key, job, id) DO UPDATE SET due = excluded.due, attempts = 0, input = excluded.input, error = NULL`;
const CANCEL = "DELETE FROM timers WHERE key = ? AND job = ? AND id = ?";
// the attempt is counted in a transaction of its own, before the job runs: a job that ends its process has counted
const claim = (lock: string) => `UPDATE timers SET attempts = attempts + 1, due = ? WHERE (key, job, id) IN
  (SELECT key, job, id FROM timers WHERE due <= ? ORDER BY due LIMIT ? ${lock}) RETURNING key, job, id, attempts, input`;
const MINE = "WHERE key = ? AND job = ? AND id = ? AND attempts = ?";
const RENEW = `UPDATE timers SET due = ? ${MINE} AND due IS NOT NULL`;
const FINISH = `DELETE FROM timers ${MINE}`;
const FAIL = `UPDATE timers SET due = ?, error = ? ${MINE}`;

/** Number of jobs that run at once in one place. */
const MAX_JOBS = 16;

interface Claimed {
  readonly key: string;
  readonly job: string;
  readonly id: string;
  readonly attempts: number;
  readonly input: string;
}

export interface TimerOptions {
  /** Time after which a job whose process ended is tried again, in milliseconds. A job that runs renews it. */
  readonly leaseMs: number;
  /** Longest time between two reads of the table, in milliseconds: timers of other processes are found by then. */
  readonly pollMs: number;
}

type Query = Transaction["query"];
type ContextOf = (key: string, attempt: number) => JobContext;
type Transact = <Result>(work: (query: Query, now: number) => Promise<Result>) => Promise<Result>;

/** The methods of a transaction that store timers. */
export function timerMethods(
  key: string,
  query: Query,
  onSchedule: (at: number) => void,
): Pick<Transaction, "schedule" | "cancel"> {
  return {
    async schedule<Input extends JSONValue>(job: Job<Input>, { id, at, input }: Timer<Input>) {
      await query(SCHEDULE, key, job.name, id, at, JSON.stringify(input));
      onSchedule(at);
    },
    async cancel(job: Job<never>, id: string) {
      await query(CANCEL, key, job.name, id);
    },
  };
}

/** Claims due timers and runs their jobs. */
export class Timers {
  readonly #transact: Transact;
  readonly #contextOf: ContextOf;
  readonly #report: (subject: string, error: unknown) => void;
  readonly #options: TimerOptions;
  readonly #claim: string;
  readonly #running = new Set<Promise<void>>();
  readonly #jobs: ReadonlyMap<string, Job<never>>;

  constructor(
    transact: Transact,
    contextOf: ContextOf,
    parts: readonly StoredPart[],
    report: (subject: string, error: unknown) => void,
    options: TimerOptions,
    lock = "",
  ) {
    this.#transact = transact;
    this.#contextOf = contextOf;
    this.#report = report;
    this.#options = options;
    this.#claim = claim(lock);
    this.#jobs = new Map(parts.flatMap(({ jobs = [] }) => jobs).map((job) => [job.name, job]));
  }

  /** Starts the jobs that are due. Returns true if more may be due. */
  async begin(): Promise<boolean> {
    const free = MAX_JOBS - this.#running.size;
    if (free === 0) return true;
    const claimed = await this.#transact((query, now) =>
      query<Claimed>(this.#claim, now + this.#options.leaseMs, now, free),
    );
    for (const timer of claimed) {
      // without the database the lease ends, and it is tried again
      const run = this.#run(timer).catch((error) => this.#report(`job ${timer.job}`, error));
      this.#running.add(run);
      void run.then(() => this.#running.delete(run));
    }
    return claimed.length === free;
  }

  /** Resolves once all jobs have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #run({ key, job: name, id, attempts, input }: Claimed): Promise<void> {
    const mine: readonly Value[] = [key, name, id, attempts];
    const job = this.#jobs.get(name);
    const renewal = setInterval(() => {
      const renewed = this.#transact((query, now) => query(RENEW, now + this.#options.leaseMs, ...mine));
      renewed.catch((error) => this.#report(`job ${name}: its lease could not be renewed`, error));
    }, this.#options.leaseMs / 3);
    try {
      if (!job) throw new Error(`no plugin has a job "${name}"`);
      if (attempts > job.attempts) throw new Error(`it ended its process ${job.attempts} times`);
      await job.run(this.#contextOf(key, attempts), JSON.parse(input) as never);
      await this.#transact((query) => query(FINISH, ...mine));
    } catch (error) {
      this.#report(`job ${name}, attempt ${attempts}`, error);
      const isRepeated = job && attempts < job.attempts;
      await this.#transact((query, now) =>
        query(
          FAIL,
          isRepeated ? now + Math.min(1000 * 2 ** attempts, 3_600_000) : null,
          String(error),
          ...mine,
        ),
      );
    } finally {
      clearInterval(renewal);
    }
  }
}

/** Reads the table of timers when the next known one is due, and each `pollMs`. */
export class TimerLoop {
  #timeout: ReturnType<typeof setTimeout> | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #claiming: Promise<void> = Promise.resolve();
  readonly #timers: Timers;
  readonly #pollMs: number;

  constructor(timers: Timers, { pollMs }: TimerOptions) {
    this.#timers = timers;
    this.#pollMs = pollMs;
    this.wake(Date.now());
  }

  wake(at: number): void {
    if (this.#isClosed || at >= this.#wakeAt) return;
    this.#wakeAt = at;
    clearTimeout(this.#timeout);
    this.#timeout = setTimeout(
      () => {
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#claiming = this.#timers.begin().then(
          (hasMore) => this.wake(Date.now() + (hasMore ? 20 : this.#pollMs)),
          () => this.wake(Date.now() + this.#pollMs), // the database is away
        );
      },
      Math.max(0, at - Date.now()),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timeout);
    await this.#claiming;
    await this.#timers.ended();
  }
}

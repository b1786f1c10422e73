import { type Job, type JobContext, waitAtMost } from "@sluice/worker-proxy/plugin";
import type { LocalDatabase } from "./local-host.js";
import type { Query } from "./run-step.js";
import { type ClaimedTimer, MAX_BUSY_KEYS, type TimerRows } from "./timer-rows.js";

/** Maximum number of recent jobs in one process, and of all jobs. A job is recent for {@link LONG_MS} milliseconds. */
const MAX_JOBS = 64;
const MAX_ALL_JOBS = 512;
const LONG_MS = 3_000;
/** Maximum number of concurrent jobs of one key in one process. */
const MAX_JOBS_OF_KEY = MAX_ALL_JOBS / MAX_BUSY_KEYS;
/** Lease of a running job, in milliseconds. Without renewal, because the process ended, the job is tried again. */
const LEASE_MS = 15_000;
/** Maximum number of consecutive attempts that may end without storing their end, as when their process is killed. */
const MAX_DEATHS = 3;
/** Maximum number of concurrent jobs that may have ended their process, and the pause of the other suspects. */
const MAX_SUSPECTS = 8;
const SUSPECT_MS = 1_000;
/** Maximum time of one attempt, in milliseconds. */
const MAX_JOB_MS = 900_000;
/** Number of attempts that take about a week, with the pauses below. */
const WEEK_ATTEMPTS = 180;
/** A job that is unknown here. Another version of this program may have it, so that it is tried for about a week. */
const UNKNOWN_JOB: Job<never> = {
  name: "",
  attempts: WEEK_ATTEMPTS,
  run: () => Promise.reject(new Error("no plugin has it; another version of this program may run it")),
};
/** Pause before the second attempt, in milliseconds. It doubles for each attempt, up to an hour. */
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 3_600_000;
/** Maximum pause before the end of an attempt is stored again, in milliseconds. */
const MAX_STORE_MS = 30_000;
/** Minimum backward step of a clock that makes old turns of keys due again, in milliseconds. */
const CLOCK_MS = 1_000;
/** Pause between the end of a job and the next claim, in milliseconds. */
const CLAIM_PAUSE_MS = 20;

/** The host that runs the jobs of timers: a process, or a Durable Object. */
export interface TimerHost {
  readonly database: Pick<LocalDatabase, "transact">;
  createContext(key: string, attempt: number, signal: AbortSignal): JobContext;
  report(subject: string, error: unknown): void;
  /** Called with the next due time of a timer whose attempt has ended. */
  onSchedule(at: number): void;
}

/** A running job, with the controller that aborts it. */
interface RunningJob {
  readonly timer: ClaimedTimer;
  readonly controller: AbortController;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Time of the database at which the stored lease ends, in Unix milliseconds. */
  leaseUntil: number;
  /** Ends the pause before the end of the job is stored again. */
  stopWaiting: () => void;
  ended: Promise<void>;
}

/** Claims due timers and runs their jobs. */
export class Timers {
  readonly #rows: TimerRows;
  readonly #host: TimerHost;
  readonly #jobs: ReadonlyMap<string, Job<never>>;
  readonly #running = new Set<RunningJob>();
  /** Claims by timer whose commit has not succeeded. The database may have stored them nevertheless. */
  readonly #unconfirmed = new Map<string, ClaimedTimer>();
  #renewal: ReturnType<typeof setInterval> | undefined;
  #claimedAt = 0;
  /** True while more timers may be due than can run. */
  #hasBacklog = false;
  #isClosed = false;

  constructor(rows: TimerRows, host: TimerHost, jobs: ReadonlyMap<string, Job<never>>) {
    this.#rows = rows;
    this.#host = host;
    this.#jobs = jobs;
  }

  /** True while the maximum number of jobs runs. */
  get isFull(): boolean {
    return this.#countFree() <= 0;
  }

  #countFree(): number {
    const now = Date.now();
    const recent = [...this.#running].filter(({ startedAt }) => Math.abs(now - startedAt) < LONG_MS);
    // the only key has its own limit; with several keys, a claim passes over busy ones
    const maxJobs = this.#rows.hasKeys ? MAX_ALL_JOBS : MAX_JOBS_OF_KEY;
    return Math.min(MAX_JOBS - recent.length, maxJobs - this.#running.size);
  }

  /** Starts due jobs. Returns the milliseconds until more may be due; undefined if unknown. */
  async begin(): Promise<number | undefined> {
    const limit = this.#countFree();
    this.#hasBacklog = true;
    if (limit <= 0) return undefined;
    const [claimed, nextInMs, leaseUntil] = await this.#host.database.transact(null, async (query, now) => {
      const timers = await this.#claim(query, now, limit);
      const next = await this.#rows.readNextKey(query, now);
      return [timers, next === null ? undefined : next - now, now + LEASE_MS] as const;
    });
    this.#unconfirmed.clear();
    for (const timer of claimed) this.#start(timer, leaseUntil);
    this.#hasBacklog = claimed.length > 0 || this.#busyKeys().length > 0;
    return claimed.length > 0 ? 0 : nextInMs;
  }

  /** Waits for jobs, up to `withinMs`. Then aborts the remaining jobs, and puts their timers back. */
  async close(withinMs: number): Promise<void> {
    await waitAtMost(withinMs, this.ended());
    this.#isClosed = true;
    for (const { controller, stopWaiting } of this.#running) {
      controller.abort(new Error("the host closes"));
      stopWaiting();
    }
    const left = [...this.#running].map(readTimer);
    clearInterval(this.#renewal);
    if (left.length === 0) return;
    await this.#host.database.transact(null, (query, now) => this.#rows.putBack(query, left, now));
  }

  /** Resolves once all jobs have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  async #claim(query: Query, now: number, limit: number): Promise<readonly ClaimedTimer[]> {
    if (now < this.#claimedAt - CLOCK_MS) await this.#rows.repair(query, now);
    this.#claimedAt = now;
    // after a pause of this process or of its database, renew the jobs that no other process has begun
    const expired = [...this.#running].filter(({ leaseUntil }) => leaseUntil <= now);
    await this.#rows.renew(query, expired.map(readTimer), now + LEASE_MS);
    await this.#rows.putBack(query, [...this.#unconfirmed.values()], now);
    const claimed = await this.#rows.claim(query, now, {
      leaseUntil: now + LEASE_MS,
      limit,
      limitOfKey: MAX_JOBS_OF_KEY,
      busy: this.#busyKeys(),
    });
    const timers = await this.#putSuspectsBack(query, now, claimed);
    for (const timer of timers)
      this.#unconfirmed.set(JSON.stringify([timer.key, timer.job, timer.id]), timer);
    return timers;
  }

  #busyKeys(): readonly string[] {
    const counts = new Map<string, number>();
    for (const { timer } of this.#running) counts.set(timer.key, (counts.get(timer.key) ?? 0) + 1);
    return [...counts].flatMap(([key, count]) => (count >= MAX_JOBS_OF_KEY ? key : []));
  }

  /**
   * Puts back timers whose jobs may have ended their process, so that few of them run at once. After two such ends,
   * only one runs at a time. Thus jobs that only ran beside the faulty job do not reach {@link MAX_DEATHS} with it.
   */
  async #putSuspectsBack(
    query: Query,
    now: number,
    claimed: readonly ClaimedTimer[],
  ): Promise<readonly ClaimedTimer[]> {
    const suspects = [...this.#running].map(readTimer).filter(isSuspect);
    const left: ClaimedTimer[] = [];
    for (const timer of claimed) {
      const isAlone = timer.deaths > 2 || suspects.some(({ deaths }) => deaths > 2);
      if (isSuspect(timer) && suspects.length >= (isAlone ? 1 : MAX_SUSPECTS)) {
        await this.#rows.putBack(query, [timer], now + SUSPECT_MS);
        continue;
      }
      if (isSuspect(timer)) suspects.push(timer);
      left.push(timer);
    }
    return left;
  }

  #start(timer: ClaimedTimer, leaseUntil: number): void {
    const running: RunningJob = {
      timer,
      controller: new AbortController(),
      startedAt: Date.now(),
      leaseUntil,
      stopWaiting: () => {},
      ended: Promise.resolve(),
    };
    this.#running.add(running);
    this.#renewal ??= setInterval(() => void this.#renew(), LEASE_MS / 3);
    running.ended = this.#run(running)
      .catch((error) => this.#host.report(`job ${timer.job}`, error))
      .finally(() => {
        this.#running.delete(running);
        // the pause merges the claims of jobs that end together
        if (this.#hasBacklog) this.#host.onSchedule(Date.now() + CLAIM_PAUSE_MS);
        if (this.#running.size > 0) return;
        clearInterval(this.#renewal);
        this.#renewal = undefined;
      });
  }

  async #renew(): Promise<void> {
    const jobs = [...this.#running];
    try {
      const leaseUntil = await this.#host.database.transact(null, async (query, now) => {
        await this.#rows.renew(query, jobs.map(readTimer), now + LEASE_MS);
        return now + LEASE_MS;
      });
      for (const running of jobs) running.leaseUntil = leaseUntil;
    } catch (error) {
      this.#host.report("the leases of jobs could not be renewed", error);
    }
  }

  async #run(running: RunningJob): Promise<void> {
    const { timer, controller } = running;
    const { key, job: name, attempts, deaths, input } = timer;
    const job = this.#jobs.get(name) ?? UNKNOWN_JOB;
    const context = this.#host.createContext(key, attempts, controller.signal);
    const report = (what: string, error: unknown) => this.#host.report(`job ${name}, ${what}`, error);
    try {
      if (deaths > MAX_DEATHS)
        throw new Error(`its last ${MAX_DEATHS} attempts ended their process, or lost the database`);
      if (attempts > job.attempts && isSuspect(timer))
        throw new Error(`the last of its ${job.attempts} attempts was cut off`);
      if (attempts <= job.attempts) {
        await this.#runWithin(controller, () => job.run(context, JSON.parse(input) as never));
        return await this.#end(running, null);
      }
    } catch (error) {
      // `close` puts the timer back
      if (this.#isClosed) return;
      report(`attempt ${Math.min(attempts, job.attempts)}`, error);
      if (attempts < job.attempts && deaths <= MAX_DEATHS)
        return await this.#end(running, getPause(attempts));
    }
    // counted after the attempts, so that `run` is not called again
    const tries = Math.max(1, attempts - job.attempts + 1);
    let retryMs: number | null = null;
    try {
      await this.#runWithin(controller, async () => job.onGivenUp?.(context, JSON.parse(input) as never));
    } catch (error) {
      if (this.#isClosed) return;
      const isLast = tries >= WEEK_ATTEMPTS;
      report(isLast ? "its last onGivenUp; its timer is deleted" : `onGivenUp ${tries}`, error);
      if (!isLast) retryMs = getPause(tries);
    }
    const isBounded = Number.isFinite(job.attempts);
    await this.#end(running, retryMs, isBounded ? Math.max(attempts, job.attempts) : attempts);
  }

  /** Runs work for up to {@link MAX_JOB_MS}, until the controller aborts. */
  async #runWithin(controller: AbortController, work: () => Promise<void>): Promise<void> {
    const error = new Error(`it took longer than ${MAX_JOB_MS / 60_000} min`);
    const late = new Promise<never>((_, reject) => {
      controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
    });
    const timer = setTimeout(() => controller.abort(error), MAX_JOB_MS);
    try {
      await Promise.race([work(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Stores the end of an attempt. It tries until the database works again, because the row counts an attempt without
   * an end as the end of its process.
   *
   * @param retryMs pause before the next attempt; null without one
   */
  async #end(running: RunningJob, retryMs: number | null, attempts = running.timer.attempts): Promise<void> {
    const timer = { ...running.timer, attempts };
    for (let tries = 1; ; tries += 1) {
      try {
        const due = await this.#host.database.transact(timer.key, (query, now) =>
          this.#rows.end(query, timer, retryMs === null ? null : now + retryMs),
        );
        if (due !== null) this.#host.onSchedule(due);
        return;
      } catch (error) {
        this.#host.report(`job ${timer.job}, its end could not be stored`, error);
      }
      const woken = new Promise<void>((resolve) => {
        running.stopWaiting = resolve;
      });
      if (!this.#isClosed) await waitAtMost(Math.min(getPause(tries), MAX_STORE_MS), woken);
      // `close` puts the timer back
      if (this.#isClosed) return;
    }
  }
}

function readTimer({ timer }: RunningJob): ClaimedTimer {
  return timer;
}

/** Returns the pause after a failed attempt, in milliseconds. */
function getPause(attempts: number): number {
  return Math.min(RETRY_MS * 2 ** (attempts - 1), MAX_RETRY_MS);
}

/** Returns true if the previous attempt did not report its end, so that it may have ended its process. */
function isSuspect({ deaths }: ClaimedTimer): boolean {
  return deaths > 1;
}

/** Maximum pause between two reads of the table, in milliseconds, to find timers of other processes. */
const POLL_MS = 1_000;

/** Reads the table of timers when the next known timer is due, and at least each second. */
export class TimerLoop {
  #timeout: ReturnType<typeof setTimeout> | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #claiming: Promise<void> = Promise.resolve();
  readonly #timers: Timers;
  readonly #onError: (error: unknown) => void;

  constructor(timers: Timers, onError: (error: unknown) => void) {
    this.#timers = timers;
    this.#onError = onError;
    this.wake(Date.now());
  }

  /** Schedules a read of the table at a time or earlier. */
  wake(at: number): void {
    const now = Date.now();
    const isLater = this.#timeout !== undefined && at >= this.#wakeAt;
    if (this.#isClosed || isLater) return;
    this.#wakeAt = Math.min(at, now + POLL_MS);
    clearTimeout(this.#timeout);
    this.#timeout = setTimeout(() => this.#read(), Math.max(0, this.#wakeAt - now));
  }

  /** Ends the loop, and waits for jobs. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timeout);
    await this.#claiming;
    await this.#timers.close(withinMs);
  }

  #read(): void {
    this.#timeout = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#claiming = this.#claiming.then(async () => {
      try {
        const inMs = (await this.#timers.begin()) ?? POLL_MS;
        this.wake(Date.now() + inMs);
      } catch (error) {
        this.#onError(error);
        this.wake(Date.now() + POLL_MS);
      }
    });
  }
}

import {
  type BoundHost,
  type JobContext,
  type JSONValue,
  type Source,
  waitAtMost,
} from "@sluice/worker-proxy/plugin";
import type { Listeners } from "./listeners.js";
import { type Query, refuseNested, runOperation, runReading } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import type { TimerRows } from "./timer-rows.js";
import { checkKey } from "./values.js";

/** Maximum number of started jobs and open sources in a process, and of one key: a single user can't use up all. */
const MAX_LOCAL = 5_000;
const MAX_LOCAL_OF_KEY = 2_000;

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

/** The environment of a {@link LocalHost}. */
interface LocalSetup {
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

/** A host that runs the operations, jobs and sources of its keys locally, in a process or a Durable Object. */
export class LocalHost implements BoundHost {
  readonly #setup: LocalSetup;
  /** The key of each started job and open source. */
  readonly #controllers = new Map<AbortController, string>();
  readonly #counts = new Map<string, number>();
  readonly #jobs = new Set<Promise<void>>();
  #isClosed = false;

  constructor(setup: LocalSetup) {
    this.#setup = setup;
  }

  /** True while a started job runs. */
  get isRunning(): boolean {
    return this.#jobs.size > 0;
  }

  readonly createContext = (key: string, attempt: number, signal: AbortSignal): JobContext => ({
    host: this,
    key,
    attempt,
    signal,
    env: this.#setup.env,
    subscribe: (listener) => this.#setup.database.listeners.add(key, listener),
  });

  run: BoundHost["run"] = async (key, step, input) => {
    refuseNested(`run "${step.name}"`);
    const { database, onSchedule } = this.#setup;
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
    const controller = this.#enter(key);
    const run = async () => job.run(this.createContext(key, 0, controller.signal), input);
    const ended = run()
      .catch((error) => {
        // the abort makes a job fail, which is expected
        if (!this.#isClosed) this.#setup.report(`job ${job.name}`, error);
      })
      .finally(() => {
        this.#jobs.delete(ended);
        this.#leave(controller);
      });
    this.#jobs.add(ended);
    await this.#setup.onStart?.(ended);
  };

  /** @param left aborts when the reader has disconnected, for platforms that do not cancel the stream then */
  open = async <Input extends JSONValue>(
    key: string,
    source: Source<Input>,
    input: Input,
    left?: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> => {
    refuseNested(`open source "${source.name}"`);
    const other = this.#findOther(key);
    if (other) return await other.open(key, source, input);
    const controller = this.#enter(key);
    left?.addEventListener("abort", () => controller.abort(left.reason), { once: true });
    return createByteStream(source.run(this.createContext(key, 0, controller.signal), input), {
      onError: (error) => {
        // the abort may make a source fail, which is expected
        if (!controller.signal.aborted) this.#setup.report(`source ${source.name}`, error);
      },
      onEnd: (reason) => {
        this.#leave(controller);
        controller.abort(reason);
      },
    });
  };

  /** Waits for jobs, up to `withinMs`. Then aborts the remaining jobs and all sources. */
  async close(withinMs: number): Promise<void> {
    await waitAtMost(withinMs, Promise.all(this.#jobs));
    this.#isClosed = true;
    for (const controller of this.#controllers.keys()) controller.abort(new Error("the host closes"));
  }

  #findOther(key: string): BoundHost | undefined {
    checkKey(key);
    return this.#setup.findOther?.(key);
  }

  /** @throws {Refusal} 503 if the host is closed, or too many jobs and sources run */
  #enter(key: string): AbortController {
    this.#setup.checkOpen?.();
    const count = this.#counts.get(key) ?? 0;
    if (this.#controllers.size >= MAX_LOCAL || count >= MAX_LOCAL_OF_KEY)
      throw createStorageError(
        `${MAX_LOCAL} jobs and sources run in this process, or ${MAX_LOCAL_OF_KEY} of one key`,
      );
    const controller = new AbortController();
    this.#controllers.set(controller, key);
    this.#counts.set(key, count + 1);
    return controller;
  }

  /** Removes a job or source. It is safe to call twice. */
  #leave(controller: AbortController): void {
    const key = this.#controllers.get(controller);
    if (key === undefined) return;
    this.#controllers.delete(controller);
    const count = (this.#counts.get(key) ?? 1) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}

/** Callbacks for the stream of a source. */
interface StreamEvents {
  /** Called when the source fails. */
  onError(error: unknown): void;
  /** Called when the stream ends, fails or is canceled, so that the source must end. */
  onEnd(reason?: unknown): void;
}

/** Makes a byte stream from the chunks of a source. The source continues when its reader pulls. */
function createByteStream(
  chunks: AsyncGenerator<Uint8Array, void>,
  { onError, onEnd }: StreamEvents,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        let { done, value } = await chunks.next();
        // a byte stream rejects empty chunks
        while (!done && value?.byteLength === 0) ({ done, value } = await chunks.next());
        if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } catch (error) {
        onError(error);
        onEnd(error);
        return controller.error(error);
      }
      onEnd();
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel(reason) {
      onEnd(reason);
      // a source that waits at an `await` ends through its signal
      chunks.return().catch(onError);
    },
  });
}

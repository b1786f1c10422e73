import type { HostContext, Job, JobContext, JSONValue, Source } from "@sluice/worker-proxy/plugin";
import { createStorageError } from "./storage-error.js";

/** Maximum number of started jobs and open sources in a process, and of one key: a single user can't use up all. */
const MAX_LOCAL = 5_000;
const MAX_LOCAL_OF_KEY = 2_000;

type CreateContext = (key: string, attempt: number, signal: AbortSignal) => JobContext;

/** The jobs and sources that were started in this process or object. */
export class LocalJobs {
  readonly #createContext: CreateContext;
  readonly #report: (subject: string, error: unknown) => void;
  /** The key of each started job and open source. */
  readonly #controllers = new Map<AbortController, string>();
  readonly #counts = new Map<string, number>();
  readonly #jobs = new Set<Promise<void>>();
  #isClosed = false;

  constructor(createContext: CreateContext, report: (subject: string, error: unknown) => void) {
    this.#createContext = createContext;
    this.#report = report;
  }

  get isRunning(): boolean {
    return this.#jobs.size > 0;
  }

  /** Starts a job. Returns a promise that resolves when the job ends, and never rejects. */
  start<Input extends JSONValue>(key: string, job: Job<Input>, input: Input): Promise<void> {
    const controller = this.#enter(key);
    const run = async () => job.run(this.#createContext(key, 0, controller.signal), input);
    const ended = run()
      .catch((error) => {
        // the abort makes a job fail, which is expected
        if (!this.#isClosed) this.#report(`job ${job.name}`, error);
      })
      .finally(() => {
        this.#jobs.delete(ended);
        this.#leave(controller);
      });
    this.#jobs.add(ended);
    return ended;
  }

  /** @param left aborts when the reader has disconnected, for platforms that do not cancel the stream then */
  open<Input extends JSONValue>(
    key: string,
    source: Source<Input>,
    input: Input,
    left?: AbortSignal,
  ): ReadableStream<Uint8Array> {
    const controller = this.#enter(key);
    left?.addEventListener("abort", () => controller.abort(left.reason), { once: true });
    const context: HostContext = this.#createContext(key, 0, controller.signal);
    return createByteStream(source.run(context, input), {
      onError: (error) => {
        // the abort may make a source fail, which is expected
        if (!controller.signal.aborted) this.#report(`source ${source.name}`, error);
      },
      onEnd: (reason) => {
        this.#leave(controller);
        controller.abort(reason);
      },
    });
  }

  /** Waits for jobs, up to `withinMs`. Then aborts the remaining jobs and all sources. */
  async close(withinMs: number): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref?.());
    await Promise.race([Promise.all(this.#jobs), late]);
    this.#isClosed = true;
    for (const controller of this.#controllers.keys()) controller.abort(new Error("the host closes"));
  }

  #enter(key: string): AbortController {
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

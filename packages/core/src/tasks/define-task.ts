import { assertClient } from "../base/note-options.js";
import type { Client } from "../client.js";
import { addRouteAdvice } from "../transport/failure.js";
import type { RequestOptions } from "../transport/send.js";
import { addDetails, ValidationError } from "../vocabulary/errors.js";
import { mergePushed, type Polled } from "./merge-pushed.js";
import { findInterval, type Interval, type PollEvent, poll } from "./poll.js";

/** Options of `watchVideoTask` and `watchAsset`. */
export interface WatchOptions<Task> extends RequestOptions {
  /**
   * Milliseconds from a response to the next poll, varied by up to 10 %. A function gets the last snapshot.
   *
   * @default 15_000 for a video, 3_000 for an asset
   */
  readonly intervalMs?: Interval<Task> | undefined;
  /**
   * Longest time of watching, in milliseconds. A request in flight counts, too.
   *
   * @default 1_800_000 (30 min) for a video, 300_000 (5 min) for an asset
   */
  readonly deadlineMs?: number | undefined;
  /** Called before each poll, and before each wait for the next one. Not called while a proxy pushes changes. */
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
  /**
   * True where the gateway has answered for the task before: a 404 is then repeated for 2 minutes, and another refusal
   * three times. After the task's time (`queryableUntil` of the handle), the first 404 ends the watching. For a new task,
   * a 404 is repeated for 30 seconds.
   *
   * @default false
   */
  readonly seenBefore?: boolean | undefined;
}

/** Newest answer about a task. */
export interface Snapshot {
  readonly state: string;
  /** Answer of the gateway, unchanged. */
  readonly raw?: unknown;
}

/** Plain JSON that names a task. */
export interface TaskHandle {
  readonly id: string;
  /** End of the time in which the task can be polled; Unix milliseconds. */
  readonly queryableUntil?: number | undefined;
}

/** A kind of task that the gateway works on, until its state is `success` or `failure`: its words, and its one request. */
export interface TaskDefinition<Task extends Snapshot, Done extends Task, Handle> {
  /** Name of the kind in locks and channels. It must never change. */
  readonly name: string;
  /** State of a task that has its result. */
  readonly success: Done["state"];
  /** State of a task that has none, and will never have one. */
  readonly failure: Task["state"];
  /** Default of the option, in milliseconds. */
  readonly intervalMs: number;
  /** Default of the option, in milliseconds. */
  readonly deadlineMs: number;
  /** Makes the message of the error after the deadline. */
  readonly late: (deadlineMs: number) => string;
  /** Makes the handle, also of an id. */
  readonly toHandle: (task: Handle | string) => Handle;
  /** Polls the task once. */
  readonly read: (client: Client, handle: Handle, options: RequestOptions) => Promise<Polled<Task>>;
  /** Advice to the operator of a proxy that does not serve the request: "add … to its `routes`". */
  readonly route: string;
  /** Makes the error of a task that failed. */
  readonly createFailure: (task: Task, handle: Handle) => Error;
  /** Returns the newer one of a snapshot and an answer after it. @default the answer */
  readonly pick?: (last: Task, next: Task) => Task;
  /** Makes a check of the snapshots of one watch, which throws to end it. @default none */
  readonly newCheck?: () => (task: Task) => void;
  /** Makes the error that a caller gets from the error of a poll. @default the same */
  readonly toError?: (error: unknown, handle: Handle) => unknown;
}

/** Makes the functions of a kind of task. `createTaskStore` makes its store. */
/* @__NO_SIDE_EFFECTS__ */
export function defineTask<Task extends Snapshot, Done extends Task, Handle extends TaskHandle>(
  definition: TaskDefinition<Task, Done, Handle>,
) {
  const { success, failure, toHandle, toError = (error: unknown) => error } = definition;
  return { ...definition, toError, read, watch, toDone, isFinal, merge };

  async function read(client: Client, handle: Handle, options: RequestOptions): Promise<Polled<Task>> {
    try {
      return await definition.read(client, handle, options);
    } catch (error) {
      throw addDetails(addRouteAdvice(error, definition.route), { handle });
    }
  }

  /** Polls a task to its end. Yields a snapshot after each change; the last one is final. */
  async function* watch(
    client: Client,
    task: Handle | string,
    options: WatchOptions<Task>,
  ): AsyncGenerator<Task, void, undefined> {
    assertClient(client);
    const handle = toHandle(assertTask(task));
    const { clock, random } = client;
    const { intervalMs = definition.intervalMs, deadlineMs = definition.deadlineMs } = options;
    const polls = poll<Polled<Task>>({
      ...options,
      clock,
      random,
      intervalMs: (answer) => findInterval(intervalMs, answer?.task),
      deadlineMs,
      knownUntil: handle.queryableUntil,
      late: definition.late(deadlineMs),
      query: (signal) => read(client, handle, { ...options, signal, retry: { limit: 0 } }),
    });
    const check = definition.newCheck?.();
    let last: Task | undefined;
    try {
      for await (const next of mergePushed(clock, polls, merge)) {
        if (next !== last) yield next;
        last = next;
        if (isFinal(next)) return;
        check?.(next);
      }
    } catch (error) {
      // only after an answer: the gateway may not know a new task for a while, and this device's clock may be wrong
      throw addDetails(toError(error, handle), { handle });
    }
  }

  /**
   * Merges an answer into the last snapshot. Returns the same object if nothing has changed. A task that has ended stays
   * so: another tab may know an older answer alone.
   */
  function merge(last: Task | undefined, answer: Task): Task {
    if (!last) return answer;
    if (isFinal(last) && answer.state !== success) return last;
    const next = definition.pick?.(last, answer) ?? answer;
    return serializeSnapshot(next) === serializeSnapshot(last) ? last : next;
  }

  /** Returns the task if it has its result. */
  function toDone(task: Task): Done | undefined {
    return task.state === success ? (task as Done) : undefined;
  }

  function isFinal({ state }: Task): boolean {
    return state === success || state === failure;
  }
}

/** @throws {ValidationError} where there is no task to poll */
function assertTask<Reference>(task: Reference): Reference {
  const isMissing = task === undefined || task === null;
  const isPromise = typeof (task as { readonly then?: unknown } | null)?.then === "function";
  if (!isMissing && !isPromise) return task;
  const message = isPromise
    ? "is a promise: await the creation, and give its handle"
    : "is missing: give the handle that its creation returned, or its id";
  throw new ValidationError([{ path: "task", message, rule: "task.handle" }]);
}

/** Writes a snapshot as text to compare. `raw` is left out, because a trace id may change with each answer. */
function serializeSnapshot({ raw: _, ...shown }: Snapshot): string {
  return JSON.stringify(Object.entries(shown).sort());
}

/** A kind of task: its words, and the functions that poll one. */
export type TaskKind<Task extends Snapshot, Done extends Task, Handle extends TaskHandle> = ReturnType<
  typeof defineTask<Task, Done, Handle>
>;

/** Polls a task once. */
export async function getTask<Task extends Snapshot, Done extends Task, Handle extends TaskHandle>(
  { toHandle, read, toError }: TaskKind<Task, Done, Handle>,
  client: Client,
  task: Handle | string,
  options: RequestOptions,
): Promise<Task> {
  assertClient(client);
  const handle = toHandle(assertTask(task));
  try {
    return (await read(client, handle, options)).task;
  } catch (error) {
    throw toError(error, handle);
  }
}

/** A task that is watched to its end. It can be read once: by a loop, or by `result()` alone. */
export interface TaskWatch<Task, Done extends Task> extends AsyncIterable<Task> {
  /**
   * Returns the task when it has its result. Without a loop it polls the task itself. Beside a loop it waits for the
   * loop's last snapshot, and rejects with an `AbortError` if the loop is left before.
   *
   * @throws the error of a task that failed; the errors of the watch
   */
  result(): Promise<Done>;
}

/** Watches a task. Nothing is polled before a loop or `result()` asks for it. */
export function watchTask<Task extends Snapshot, Done extends Task, Handle extends TaskHandle>(
  { toHandle, watch, toDone, createFailure }: TaskKind<Task, Done, Handle>,
  client: Client,
  task: Handle | string,
  options: WatchOptions<Task>,
): TaskWatch<Task, Done> {
  let isRead = false;
  let resolve!: (done: Done) => void;
  let reject!: (error: unknown) => void;
  const ended = new Promise<Done>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // a loop throws the error, too: the result may stay unused
  ended.catch(() => {});
  return {
    [Symbol.asyncIterator]() {
      if (isRead) throw new TypeError("this watch is already read; watch the task again for another loop");
      isRead = true;
      return read();
    },
    result() {
      // a loop that starts in the same tick has priority
      queueMicrotask(() => {
        if (!isRead) void drain();
      });
      return ended;
    },
  };

  async function* read(): AsyncGenerator<Task, undefined> {
    let last: Task | undefined;
    try {
      for await (const snapshot of watch(client, task, options)) {
        last = snapshot;
        yield snapshot;
      }
      const done = last && toDone(last);
      if (done) resolve(done);
      else reject(createFailure(last as Task, toHandle(task)));
    } catch (error) {
      reject(error);
      throw error;
    } finally {
      // only where the loop was left
      reject(new DOMException("The loop over the watch was left", "AbortError"));
    }
  }

  async function drain(): Promise<void> {
    isRead = true;
    try {
      for await (const _ of read());
    } catch {
      // the result has the error
    }
  }
}

import type { Clock } from "../base/clock.js";
import { assertClient } from "../base/note-options.js";
import type { Client } from "../client.js";
import { addRouteAdvice } from "../transport/failure.js";
import type { RequestOptions } from "../transport/send.js";
import { addHandle, ValidationError } from "../types/errors.js";
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
   * Longest time to watch, in milliseconds. Includes a request in flight.
   *
   * @default 1_800_000 (30 min) for a video, 300_000 (5 min) for an asset
   */
  readonly deadlineMs?: number | undefined;
  /** Called before each poll, and before each wait for the next poll. Not called while a proxy pushes changes. */
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
  /**
   * True if the gateway has reported the task before. The watch then retries a 404 for 2 minutes, and another rejection
   * three times. The first 404 after the handle's `queryableUntil` ends it. False: the watch retries a 404 for 30
   * seconds, because the gateway may not know a new task yet.
   *
   * @default false
   */
  readonly seenBefore?: boolean | undefined;
}

/** Latest state of a task. */
export interface Snapshot {
  /** State of the task. */
  readonly state: string;
  /** The gateway's response, unchanged. */
  readonly raw?: unknown;
}

/** Reference to a task, as plain JSON. */
export interface TaskHandle {
  /** Id of the task at the gateway. */
  readonly id: string;
  /** Time until which the task can be polled; Unix milliseconds. */
  readonly queryableUntil?: number | undefined;
}

/** Result of one poll of a task. */
export interface Polled<Task> {
  /** Latest state of the task. */
  readonly task: Task;
  /**
   * Connects to the proxy and yields the task after each change. Undefined without a proxy that pushes changes. Throws
   * only when aborted.
   */
  readonly pushed?: (() => AsyncIterable<Task>) | undefined;
}

/** What differs between the kinds of tasks: states, texts and the query. A task runs until `success` or `failure`. */
export interface TaskDefinition<Task extends Snapshot, Done extends Task, Handle> {
  /** Name of the kind in locks and channels. It must never change. */
  readonly name: string;
  /** State of a task with a result. */
  readonly success: Done["state"];
  /** State of a failed task. */
  readonly failure: Task["state"];
  /** Default of the option `intervalMs`. */
  readonly intervalMs: number;
  /** Default of the option `deadlineMs`. */
  readonly deadlineMs: number;
  /** Returns the message of the error after the deadline. */
  readonly deadlineText: (deadlineMs: number) => string;
  /** Creates the handle from an id or a handle. */
  readonly toHandle: (task: Handle | string) => Handle;
  /**
   * Throws if the client cannot query such a task, so that none is created.
   *
   * @default every client can
   */
  readonly assertReady?: (client: Client) => void;
  /** Polls the task once. */
  readonly read: (client: Client, handle: Handle, options: RequestOptions) => Promise<Polled<Task>>;
  /** Advice for the operator of a proxy that does not serve the request: "add … to its `routes`". */
  readonly advice: string;
  /** Creates the error of a failed task. */
  readonly toFailure: (task: Task, handle: Handle) => Error;
  /** Returns the newer of two snapshots. @default `next` */
  readonly pickNewer?: (last: Task, next: Task) => Task;
  /** Creates a check of the snapshots of one watch. The check throws to end the watch. @default none */
  readonly createCheck?: () => (task: Task) => void;
  /** Converts the error of a poll for the caller. @default the same error */
  readonly toError?: (error: unknown, handle: Handle) => unknown;
}

/** A kind of task, with the functions that all kinds share. */
export interface TaskKind<
  Task extends Snapshot = Snapshot,
  Done extends Task = Task,
  Handle extends TaskHandle = TaskHandle,
> extends TaskDefinition<Task, Done, Handle> {
  /** Converts the error of a poll for the caller. */
  readonly toError: (error: unknown, handle: Handle) => unknown;
  /** Polls a task to its end. Yields a snapshot after each change; the last one is final. */
  readonly watch: (
    client: Client,
    task: Handle | string,
    options: WatchOptions<Task>,
  ) => AsyncGenerator<Task, void, undefined>;
  /** Returns the task if it has a result. */
  readonly toDone: (task: Task) => Done | undefined;
  /** Returns true for a task with a result, and for a failed one. */
  readonly isFinal: (task: Task) => boolean;
  /**
   * Merges the next snapshot into the last one. Returns the same object if nothing has changed. A finished task stays
   * finished, because another tab may only know an older snapshot.
   */
  readonly merge: (last: Task | undefined, next: Task) => Task;
}

/** Adds the functions that all kinds of tasks share. `createTaskStore` creates the store of a kind. */
/* @__NO_SIDE_EFFECTS__ */
export function defineTask<Task extends Snapshot, Done extends Task, Handle extends TaskHandle>(
  definition: TaskDefinition<Task, Done, Handle>,
): TaskKind<Task, Done, Handle> {
  const { success, failure, toHandle, toError = (error: unknown) => error } = definition;
  return { ...definition, toError, read, watch, toDone, isFinal, merge };

  async function read(client: Client, handle: Handle, options: RequestOptions): Promise<Polled<Task>> {
    try {
      return await definition.read(client, handle, options);
    } catch (error) {
      throw addHandle(addRouteAdvice(error, definition.advice), handle);
    }
  }

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
      intervalMs: (next) => findInterval(intervalMs, next?.task),
      deadlineMs,
      knownUntil: handle.queryableUntil,
      deadlineText: definition.deadlineText(deadlineMs),
      query: (signal) => read(client, handle, { ...options, signal, retry: { limit: 0 } }),
    });
    const check = definition.createCheck?.();
    let last: Task | undefined;
    try {
      for await (const next of mergePushed(clock, polls, merge)) {
        if (next !== last) yield next;
        last = next;
        if (isFinal(next)) return;
        check?.(next);
      }
    } catch (error) {
      // expiry counts only after a failed poll: the gateway may not know a new task yet, and the local clock may be wrong
      throw addHandle(toError(error, handle), handle);
    }
  }

  function merge(last: Task | undefined, update: Task): Task {
    if (!last) return update;
    if (isFinal(last) && update.state !== success) return last;
    const next = definition.pickNewer?.(last, update) ?? update;
    return serializeSnapshot(next) === serializeSnapshot(last) ? last : next;
  }

  function toDone(task: Task): Done | undefined {
    return task.state === success ? (task as Done) : undefined;
  }

  function isFinal({ state }: Task): boolean {
    return state === success || state === failure;
  }
}

/** Shortest time in milliseconds from the end of a stream of pushed changes to the next stream. */
const PUSH_PAUSE_MS = 60_000;

/**
 * Yields a task after each poll and each pushed change. Yields the same object if nothing has changed.
 *
 * Pushed changes replace polls while they arrive. The stream of changes opens only after a poll with a new snapshot,
 * because a subscriber shows `fetching` before it. After the stream has ended, polls continue for a minute.
 */
async function* mergePushed<Task>(
  clock: Clock,
  polls: AsyncIterable<Polled<Task>>,
  merge: (last: Task | undefined, next: Task) => Task,
): AsyncGenerator<Task, void> {
  let last: Task | undefined;
  let nextPushAt = clock.now();
  for await (const { task, pushed } of polls) {
    const previous = last;
    last = merge(last, task);
    yield last;
    if (!pushed || last === previous || clock.now() < nextPushAt) continue;
    for await (const change of pushed()) {
      last = merge(last, change);
      yield last;
    }
    nextPushAt = clock.now() + PUSH_PAUSE_MS;
  }
}

/** @throws {ValidationError} for a missing task or a promise */
function assertTask<Reference>(task: Reference): Reference {
  const isMissing = task === undefined || task === null;
  const isPromise = typeof (task as { readonly then?: unknown } | null)?.then === "function";
  if (!isMissing && !isPromise) return task;
  const message = isPromise
    ? "is a promise: await the creation, and give its handle"
    : "is missing: give the handle that its creation returned, or its id";
  throw new ValidationError([{ path: "task", message, rule: "task.handle" }]);
}

/** Serializes a snapshot for comparison, without `raw`, whose trace id may change with each response. */
function serializeSnapshot({ raw: _, ...fields }: Snapshot): string {
  return JSON.stringify(Object.entries(fields).sort());
}

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

/** A watch of a task until its end. Read it once: by a loop, or by `result()` alone. */
export interface TaskWatch<Task, Done extends Task> extends AsyncIterable<Task> {
  /**
   * Resolves with the task once it has a result. Without a loop, it polls the task. During a loop, it waits for the
   * loop's last snapshot, and rejects with an `AbortError` if the loop ends early.
   *
   * @throws the error of a failed task; the errors of the watch
   */
  result(): Promise<Done>;
}

/** Watches a task. The first poll starts with a loop or `result()`. */
export function watchTask<Task extends Snapshot, Done extends Task, Handle extends TaskHandle>(
  { toHandle, watch, toDone, toFailure }: TaskKind<Task, Done, Handle>,
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
  // the app may only use a loop, which throws the same error
  ended.catch(() => {});
  return {
    [Symbol.asyncIterator]() {
      if (isRead) throw new TypeError("this watch is already read; watch the task again for another loop");
      isRead = true;
      return read();
    },
    result() {
      // a loop that starts in the same tick reads the watch
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
      else reject(toFailure(last as Task, toHandle(task)));
    } catch (error) {
      reject(error);
      throw error;
    } finally {
      // has no effect on a settled promise, so this rejects only if the loop ended early
      reject(new DOMException("The loop over the watch was left", "AbortError"));
    }
  }

  async function drain(): Promise<void> {
    isRead = true;
    try {
      for await (const _ of read());
    } catch {
      // `result()` rejects with the error
    }
  }
}

import type { Client } from "../client.js";
import { intervalAfter, type PollEvent, poll } from "../tasks/poll.js";
import { isClosedRoute, withRoute } from "../transport/failure.js";
import { archiveMs, requestRecord } from "../transport/json-response.js";
import { assertClient, type RequestOptions } from "../transport/send.js";
import { taskPath } from "../transport/task-path.js";
import { renewalAt as linkRenewalAt } from "../uploads/expiring-link.js";
import { isGatewayError, TaskExpiredError, TaskFailedError, withDetails } from "../vocabulary/errors.js";
import type {
  FailedVideoTask,
  PendingVideoTask,
  SucceededVideoTask,
  VideoTask,
  VideoTaskReference,
} from "../vocabulary/video-task.js";
import { normalizeVideoTask } from "./read-task.js";

const HEADERS_MS = 60_000;
const ROUTE = "add videos to its `routes`";
/** Time in milliseconds for which the task is polled after pushed events have ended. */
const EVENTS_AGAIN_MS = 60_000;
/** Life of a link, where the gateway gives none, in milliseconds. */
const DAY_MS = 86_400_000;
/** Number of further polls after a success without a URL. */
const RESULT_QUERIES = 3;

/** Says to a proxy that watches a task that its user has removed it. Other gateways get no request. */
export function dismissVideoTask(client: Client, { id, watchedBy }: VideoTaskReference): void {
  if (!watchedBy) return;
  const path = `${videoTaskPath(id)}/events`;
  // the task is gone here, also if the proxy can't be reached
  import("./dismiss.js").then(({ dismissTask }) => dismissTask(client, path)).catch(() => {});
}

/** Options for watching a task. Times are milliseconds. */
export interface VideoTaskWatchOptions extends RequestOptions {
  /**
   * Milliseconds from an answer to the next poll, varied by up to 10 %. A function gets the last answer.
   *
   * @default 15_000
   */
  readonly intervalMs?: number | ((task: VideoTask | undefined) => number) | undefined;
  /** Longest time of watching, in milliseconds. A request in flight counts, too. @default 1_800_000 (30 min) */
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

/**
 * Polls a video task once (spec, `GET /v1/video/generations/{id}`). A failed task is an answer, not an error.
 * The request is repeated as chat requests are.
 *
 * @param task the handle that `createVideoTask` returned, also from JSON, or the id alone
 * @throws {TaskExpiredError} when the gateway no longer knows the task and its time is over
 * @throws {APIError} when the gateway refuses, also when the envelope's `code` is not `success`
 * @throws {ConnectionError} | {TimeoutError} | {ResponseError} as everywhere; all of them keep the `handle`
 * @example
 * ```ts
 * const task = await getVideoTask(client, handle);
 * if (task.state === "succeeded") show(task.url);
 * ```
 */
export async function getVideoTask(
  client: Client,
  task: VideoTaskReference | string,
  options: RequestOptions = {},
): Promise<VideoTask> {
  const handle = referenceOf(client, task);
  try {
    return (await query(client, handle, options)).task;
  } catch (error) {
    throw expiredOr(error, handle);
  }
}

/** Polls once. Also returns the offer in the answer: `video-events`, where a proxy pushes changes. */
async function query(
  client: Client,
  handle: VideoTaskReference,
  options: RequestOptions,
): Promise<{ task: VideoTask; keepMs: number | undefined; offers: string | null }> {
  const path = videoTaskPath(handle.id);
  try {
    return await requestRecord(
      client,
      {
        method: "get",
        kind: "video",
        path,
        subject: handle,
        headersMs: HEADERS_MS,
        repeat: "any",
        read({ json, reported, headers }) {
          if (isRefused(json)) throw reported();
          const offers = headers.get("x-sluice-offers");
          const keepMs = archiveMs(headers);
          return { task: readTask(client, json, handle, keepMs), keepMs, offers };
        },
      },
      options,
      "data",
      "status",
    );
  } catch (error) {
    throw withDetails(withRoute(error, ROUTE), { handle });
  }
}

function readTask(
  client: Client,
  json: unknown,
  handle: VideoTaskReference,
  keepMs: number | undefined,
): VideoTask {
  const task = (client.normalizeVideoTask ?? normalizeVideoTask)(json, handle);
  if (task.state !== "succeeded" || keepMs === undefined) return task;
  const { finishedAt = Date.now() } = task;
  return { expiresAt: finishedAt + DAY_MS, ...task, keptUntil: finishedAt + keepMs };
}

/**
 * Watches a video task to its end. Yields a snapshot after each change; the last one is `succeeded` or `failed`.
 * Progress never goes back. Failed polls (429, 5xx, the network) do not end it. Leaving the loop or aborting ends the
 * watching; the task continues. Where a proxy pushes changes, the task is polled only after the push has failed.
 *
 * @throws {TaskFailedError} `reason: "result-missing"`: the gateway reported success four times without a URL
 * @throws {TaskExpiredError} when the gateway no longer knows the task and its time is over
 * @throws {TimeoutError} phase `deadline`; watch again with the same handle to continue
 * @throws {APIError} | {ResponseError} when another poll would not help. All errors keep the `handle`.
 * @example
 * ```ts
 * for await (const task of watchVideoTask(client, handle)) console.log(task.state, task.progress);
 * ```
 */
export async function* watchVideoTask(
  client: Client,
  task: VideoTaskReference | string,
  options: VideoTaskWatchOptions = {},
): AsyncGenerator<VideoTask, void, undefined> {
  const handle = referenceOf(client, task);
  videoTaskPath(handle.id);
  let last: VideoTask | undefined;
  let withoutResult = 0;
  try {
    for await (const next of snapshotsOf(client, handle, options)) {
      if (next !== last) yield next;
      last = next;
      if (next.state === "succeeded" || next.state === "failed") return;
      withoutResult = next.state === "result-pending" ? withoutResult + 1 : 0;
      if (withoutResult > RESULT_QUERIES) throw resultMissing(next as PendingVideoTask);
    }
  } catch (error) {
    // only after an answer: the gateway may not know a new task for a while, and this device's clock may be wrong
    throw withDetails(expiredOr(error, handle), { handle });
  }
}

/** Yields the task after each answer and each pushed change. Yields the same object if nothing has changed. */
async function* snapshotsOf(
  client: Client,
  handle: VideoTaskReference,
  options: VideoTaskWatchOptions,
): AsyncGenerator<VideoTask, void> {
  const { clock } = client;
  let last: VideoTask | undefined;
  let pushAgainAt = clock.now();
  for await (const { task, keepMs, listening } of answersOf(client, handle, options)) {
    const before = last;
    last = newerTask(last, task);
    yield last;
    // only after an update: a subscriber shows `fetching` until the update
    if (!listening || last === before || clock.now() < pushAgainAt) continue;
    for await (const pushed of pushedOf(client, handle, { ...options, signal: listening }, keepMs)) {
      last = newerTask(last, pushed);
      yield last;
    }
    pushAgainAt = clock.now() + EVENTS_AGAIN_MS;
  }
}

/** An answer. Where changes are pushed, also the signal for listening to them. */
interface Answer {
  readonly task: VideoTask;
  readonly keepMs: number | undefined;
  readonly listening: AbortSignal | undefined;
}

function answersOf(
  client: Client,
  handle: VideoTaskReference,
  options: VideoTaskWatchOptions,
): AsyncIterable<Answer> {
  const { clock, random } = client;
  const { intervalMs = 15_000, deadlineMs = 1_800_000 } = options;
  return poll<Answer>({
    ...options,
    clock,
    random,
    intervalMs: (answer) => intervalAfter(intervalMs, answer?.task),
    deadlineMs,
    knownUntil: handle.queryableUntil,
    late: `the video task was not over after ${deadlineMs} ms (deadlineMs); it goes on: watch it again by its handle`,
    async query(signal) {
      const { task, keepMs, offers } = await query(client, handle, {
        ...options,
        signal,
        retry: { limit: 0 },
      });
      return { task, keepMs, listening: offers?.includes("video-events") ? signal : undefined };
    },
  });
}

/** Yields pushed snapshots until the connection breaks off. Then the task is polled again. */
async function* pushedOf(
  client: Client,
  handle: VideoTaskReference,
  options: RequestOptions & { readonly signal: AbortSignal },
  keepMs: number | undefined,
): AsyncGenerator<VideoTask, void> {
  try {
    const path = `${videoTaskPath(handle.id)}/events`;
    // few proxies push; if the code cannot be loaded, the task is polled
    const { videoEvents } = await import("./push.js");
    for await (const json of videoEvents(client, path, options)) yield readTask(client, json, handle, keepMs);
  } catch {
    // after any failure: the task can still be polled
    options.signal.throwIfAborted();
  }
}

/**
 * Watches a video task and returns it when it has its video.
 *
 * @throws {TaskFailedError} when the task fails; `task` has the reason
 * @throws the errors of {@link watchVideoTask}
 * @example
 * ```ts
 * const { url, expiresAt } = await waitForVideoTask(client, handle, { signal });
 * ```
 */
export async function waitForVideoTask(
  client: Client,
  task: VideoTaskReference | string,
  options: VideoTaskWatchOptions = {},
): Promise<SucceededVideoTask> {
  const handle = referenceOf(client, task);
  let last: VideoTask | undefined;
  for await (const snapshot of watchVideoTask(client, handle, options)) last = snapshot;
  if (last?.state === "succeeded") return last;
  throw taskFailure(last as FailedVideoTask, handle);
}

/** Returns the time from which the link of a task is renewed; infinity for a task without a copy. */
export function renewalAt(task: VideoTask | undefined): number {
  return task?.state === "succeeded" ? linkRenewalAt(task) : Number.POSITIVE_INFINITY;
}

/** Returns true if nothing is left to poll: the task is final, and its link works or can't be renewed. */
export function isSettled(task: VideoTask | undefined): boolean {
  return task?.state === "failed" || (task?.state === "succeeded" && renewalAt(task) > Date.now());
}

/** Makes the error of a failed task. */
export function taskFailure(task: FailedVideoTask, handle: VideoTaskReference): TaskFailedError {
  const words = task.reason || "the gateway gives no reason";
  const error = new TaskFailedError(`the video task failed: ${words}`, { reason: "failed", task });
  return withDetails(error, { handle }) as TaskFailedError;
}

function videoTaskPath(id: string): string {
  return taskPath("/v1/video/generations", id, "video.task-id");
}

function referenceOf(client: Client, task: VideoTaskReference | string): VideoTaskReference {
  assertClient(client);
  return typeof task === "string" ? { id: task } : task;
}

/** Returns true if the query itself failed, under HTTP 200. A failed task is not a failed query. */
function isRefused({ code }: Record<string, unknown>): boolean {
  return code != null && code !== "" && String(code).toLowerCase() !== "success";
}

/** Makes the error of an unknown task: after its time it has expired, before that the id is wrong. */
function expiredOr(error: unknown, handle: VideoTaskReference): unknown {
  const { queryableUntil } = handle;
  if (queryableUntil === undefined || Date.now() < queryableUntil || isClosedRoute(error)) return error;
  if (!isGatewayError(error) || error.name !== "APIError" || error.status !== 404) return error;
  const message = "the gateway no longer knows the video task: its 24 hours are over";
  return new TaskExpiredError(message, handle, { cause: error });
}

/** States in their order; other states have no place in it. */
const ORDER: readonly string[] = ["queued", "running", "result-pending", "succeeded"];

/**
 * Merges an answer into the last snapshot. Progress and state never go back: servers that share a task may answer with
 * older news. Returns the same object if nothing has changed.
 */
export function newerTask(last: VideoTask | undefined, answer: VideoTask): VideoTask {
  const place = ORDER.indexOf(answer.state);
  if (last && place !== -1 && place < ORDER.indexOf(last.state)) return last;
  const progress = Math.max(answer.progress ?? 0, last?.progress ?? 0);
  const next = progress > (answer.progress ?? 0) ? { ...answer, progress } : answer;
  return last && faceOf(next) === faceOf(last) ? last : next;
}

/** Writes a snapshot as text to compare. `raw` is left out, because a trace id may change with each answer. */
function faceOf({ raw: _, ...shown }: VideoTask): string {
  return JSON.stringify(Object.entries(shown).sort());
}

function resultMissing(task: PendingVideoTask): TaskFailedError {
  const message = "the video task succeeded, but has no URL; ask again later by its handle";
  return new TaskFailedError(message, { reason: "result-missing", task });
}

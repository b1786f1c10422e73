import type { Client } from "../client.js";
import {
  defineTask,
  getTask,
  type Polled,
  type TaskWatch,
  type WatchOptions,
  watchTask,
} from "../tasks/define-task.js";
import { isAbsent, isClosedRoute } from "../transport/failure.js";
import { readArchiveMs, requestRecord } from "../transport/json-response.js";
import type { RequestOptions } from "../transport/send.js";
import { createTaskPath } from "../transport/task-path.js";
import { addHandle, isGatewayError, TaskError } from "../types/errors.js";
import type {
  FailedVideoTask,
  PendingVideoTask,
  SucceededVideoTask,
  VideoTask,
  VideoTaskHandle,
} from "../types/video-task.js";
import { parseVideoTask } from "./read-task.js";

/** Assumed lifetime of a link in milliseconds, if the gateway reports none (wire, 3.14). */
const DAY_MS = 86_400_000;
/** Number of additional polls after a success without a URL. */
const RESULT_POLLS = 3;

/**
 * The task definition of videos: their states, texts and query.
 *
 * @example
 * ```ts
 * import { videos } from "@sluice/core/extend";
 *
 * const { task } = await videos.read(client, videos.toHandle("t-1"), {});
 * if (videos.isFinal(task)) show(task.state);
 * ```
 */
export const videos = defineTask<VideoTask, SucceededVideoTask, VideoTaskHandle>({
  name: "video",
  success: "succeeded",
  failure: "failed",
  intervalMs: 15_000,
  deadlineMs: 1_800_000,
  deadlineText: (ms) =>
    `the video task was not over after ${ms} ms (deadlineMs); it still runs: watch it again by its handle`,
  advice: "add videos to its `routes`",
  toHandle: (task) => (typeof task === "string" ? { id: task } : task),
  read: queryTask,
  toFailure: createFailure,
  pickNewer,
  createCheck: createResultCheck,
  toError: toExpiredError,
});

/**
 * Polls a video task once (spec, `GET /v1/video/generations/{id}`). A failed task is a result, not an error. The client
 * repeats the request like chat requests.
 *
 * @param task the handle that `createVideoTask` returned, also from JSON, or the id alone
 * @throws {TaskError} reason `expired` when the gateway no longer knows the task after its retention time
 * @throws {APIError} when the gateway rejects the query, or the wrapper's `code` is not `success`
 * @throws {ConnectionError} | {TimeoutError} | {ResponseError} as everywhere. All errors carry the `handle`
 * @example
 * ```ts
 * const task = await getVideoTask(client, handle);
 * if (task.state === "succeeded") show(task.url);
 * ```
 */
export function getVideoTask(
  client: Client,
  task: VideoTaskHandle | string,
  options: RequestOptions = {},
): Promise<VideoTask> {
  return getTask(videos, client, task, options);
}

/**
 * Watches a video task until its end. Iterate it for a snapshot after each change; the last one is `succeeded` or
 * `failed`. Or await `result()` for the task with its video. Progress never decreases. Failed polls (429, 5xx, the
 * network) do not end the watch. Leaving the loop or aborting ends the watch, but not the task. If a proxy pushes
 * changes, the watch polls only after the push has failed.
 *
 * @throws {TaskError} from `result()` when the task fails; `task` has the reason. `reason: "no-result"`: the gateway
 *   reported success four times without a URL
 * @throws {TaskError} reason `expired` when the gateway no longer knows the task after its retention time
 * @throws {TimeoutError} phase `deadline`; watch again with the same handle to continue
 * @throws {APIError} | {ResponseError} when another poll would not help. All errors carry the `handle`.
 * @example
 * ```ts
 * for await (const task of watchVideoTask(client, handle)) console.log(task.state, task.progress);
 * const { url, expiresAt } = await watchVideoTask(client, handle, { signal }).result();
 * ```
 */
export function watchVideoTask(
  client: Client,
  task: VideoTaskHandle | string,
  options: WatchOptions<VideoTask> = {},
): TaskWatch<VideoTask, SucceededVideoTask> {
  return watchTask(videos, client, task, options);
}

/** Polls once. The response has the feature `video-events` if a proxy pushes changes. */
async function queryTask(
  client: Client,
  handle: VideoTaskHandle,
  options: RequestOptions,
): Promise<Polled<VideoTask>> {
  return requestRecord(
    client,
    {
      method: "get",
      kind: "video",
      path: createVideoTaskPath(handle.id),
      subject: handle,
      firstChunkMs: 60_000,
      read({ json, reported, headers }) {
        if (isQueryFailed(json)) throw reported();
        const storedMs = readArchiveMs(headers);
        const pushes = headers.get("x-sluice-features")?.includes("video-events");
        return {
          task: readTask(client, json, handle, storedMs),
          pushed: pushes ? () => receivePushed(client, handle, options, storedMs) : undefined,
        };
      },
    },
    options,
    "data",
    "status",
  );
}

function readTask(
  client: Client,
  json: unknown,
  handle: VideoTaskHandle,
  storedMs: number | undefined,
): VideoTask {
  const { parseVideoTask: parse } = client.gateway;
  const task = (parse ?? parseVideoTask)(json, handle);
  if (task.state === "succeeded" && !parse) warnOfOtherId(client, json, handle.id);
  if (task.state !== "succeeded" || storedMs === undefined) return task;
  const { finishedAt = Date.now() } = task;
  return { expiresAt: finishedAt + DAY_MS, ...task, storedUntil: finishedAt + storedMs };
}

/** Warns about a response for another task id. The response still counts, because a task may have several ids. */
function warnOfOtherId(client: Client, json: unknown, requestedId: string): void {
  const { id } = parseVideoTask(json);
  const message = `is "${id}" in the response for the task "${requestedId}": the video may be another one`;
  if (id !== "" && id !== requestedId) client.warn({ path: "task_id", message, rule: "video.other-task" });
}

/** Yields pushed snapshots until the connection breaks. Then the task is polled again. */
async function* receivePushed(
  client: Client,
  handle: VideoTaskHandle,
  options: RequestOptions,
  storedMs: number | undefined,
): AsyncGenerator<VideoTask, void> {
  try {
    const path = `${createVideoTaskPath(handle.id)}/events`;
    // loaded on demand, because few proxies push. If loading fails, the task is polled
    const { receiveVideoEvents } = await import("./push.js");
    for await (const json of receiveVideoEvents(client, path, options))
      yield readTask(client, json, handle, storedMs);
  } catch {
    // after any failure, the task can still be polled
    options.signal?.throwIfAborted();
  }
}

function createVideoTaskPath(id: string): string {
  return createTaskPath("/v1/video/generations", id, "video.task-id");
}

/** Returns true for an error with HTTP status 200. A failed task is not an error of the query. */
function isQueryFailed({ code }: Record<string, unknown>): boolean {
  return code != null && code !== "" && String(code).toLowerCase() !== "success";
}

/** Returns the error `expired` for a task that the gateway no longer knows after its retention time. */
function toExpiredError(error: unknown, handle: VideoTaskHandle): unknown {
  const { queryableUntil } = handle;
  if (queryableUntil === undefined || Date.now() < queryableUntil || isClosedRoute(error)) return error;
  if (!isGatewayError(error) || error.name !== "APIError" || !isAbsent(error)) return error;
  const message = "the gateway no longer knows the video task: its 24 hours are over";
  return addHandle(new TaskError(message, { reason: "expired" }, { cause: error }), handle);
}

/** Creates the error of a failed task. */
function createFailure(task: VideoTask, handle: VideoTaskHandle): TaskError {
  const { reason } = task as FailedVideoTask;
  const message = `the video task failed: ${reason || "the gateway gives no reason"}`;
  const error = new TaskError(message, { reason: "failed", task: task as FailedVideoTask });
  return addHandle(error, handle);
}

/** Creates a check that ends a watch if the task repeatedly succeeds without a URL. */
function createResultCheck(): (task: VideoTask) => void {
  let withoutURL = 0;
  return (task) => {
    withoutURL = task.state === "result-pending" ? withoutURL + 1 : 0;
    if (withoutURL <= RESULT_POLLS) return;
    const message = "the video task succeeded, but has no URL; ask again later by its handle";
    throw new TaskError(message, { reason: "no-result", task: task as PendingVideoTask });
  };
}

/** States in the order of time. A state that is not in the list can come at any time. */
const ORDER: readonly string[] = ["queued", "running", "result-pending", "succeeded"];

/** Keeps state and progress from decreasing, because one of several servers may respond with an older state. */
function pickNewer(last: VideoTask, next: VideoTask): VideoTask {
  const position = ORDER.indexOf(next.state);
  if (position !== -1 && position < ORDER.indexOf(last.state)) return last;
  const progress = Math.max(next.progress ?? 0, last.progress ?? 0);
  return progress > (next.progress ?? 0) ? { ...next, progress } : next;
}

import {
  type Client,
  isGatewayError,
  type VideoTask,
  type VideoTaskHandle,
  type WatchOptions,
  watchVideoTask,
} from "@sluice/core";

/** Maximum number of 404 responses in a row before the watch ends. */
const MAX_MISSING = 3;
/** Time between two polls until the first response about the task, in milliseconds. */
const FIRST_INTERVAL_MS = 3000;
const INTERVAL_MS = 15_000;

/** A task that the gateway does not know. */
export class NoTask extends Error {
  override readonly name = "NoTask";

  constructor(id: string) {
    super(
      `No task with this id: the gateway does not know ${id}. Check the id. A task that was started a moment ago may take some seconds to appear.`,
    );
  }
}

/**
 * Watches a video task with an id from outside: the id may be wrong, or belong to another gateway.
 *
 * @throws {NoTask} after three 404 responses in a row
 * @throws the errors of `watchVideoTask`
 */
export async function* watchTask(
  client: Client,
  task: VideoTaskHandle,
  { signal, ...options }: WatchOptions<VideoTask> & { signal: AbortSignal },
): AsyncGenerator<VideoTask, void, undefined> {
  const notFound = new AbortController();
  let missing = 0;
  let isSeen = false;
  yield* watchVideoTask(client, task, {
    ...options,
    signal: AbortSignal.any([signal, notFound.signal]),
    intervalMs(last) {
      isSeen = last !== undefined;
      return isSeen ? INTERVAL_MS : FIRST_INTERVAL_MS;
    },
    onPoll(event) {
      if (event.type === "poll" || isSeen) return;
      missing = isUnknownTask(event.failure) ? missing + 1 : 0;
      if (missing >= MAX_MISSING) notFound.abort(new NoTask(task.id));
    },
  });
}

/** Checks for a 404 about the task from the gateway, not from a server in between. */
export function isUnknownTask(error: unknown): boolean {
  if (!isGatewayError(error) || error.name !== "APIError" || error.status !== 404) return false;
  return error.code !== "upstream_type" && /^\s*[[{]/.test(error.body);
}

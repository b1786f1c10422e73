import {
  type Client,
  isGatewayError,
  type VideoTask,
  type VideoTaskHandle,
  type WatchOptions,
  watchVideoTask,
} from "@sluice/core";
import { isAbsent } from "@sluice/core/internal";

/** Number of answers in a row by which the gateway does not know a task, after which the watching ends. */
const MAX_ABSENT = 3;
/** Time between two polls before the first answer, in milliseconds. */
const FIRST_MS = 3000;
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
 * Watches a video task whose id came from outside: it may be wrong, or of another gateway.
 *
 * @throws {NoTask} after three answers by which there is no such task
 * @throws the errors of `watchVideoTask`
 */
export async function* watchTask(
  client: Client,
  task: VideoTaskHandle,
  { signal, ...options }: WatchOptions<VideoTask> & { signal: AbortSignal },
): AsyncGenerator<VideoTask, void, undefined> {
  const unknown = new AbortController();
  let absent = 0;
  let isSeen = false;
  const tasks = watchVideoTask(client, task, {
    ...options,
    signal: AbortSignal.any([signal, unknown.signal]),
    intervalMs(last) {
      isSeen = last !== undefined;
      return isSeen ? INTERVAL_MS : FIRST_MS;
    },
    onPoll(event) {
      if (event.type === "poll" || isSeen) return;
      absent = isUnknown(event.failure) ? absent + 1 : 0;
      if (absent >= MAX_ABSENT) unknown.abort(new NoTask(task.id));
    },
  });
  yield* tasks;
}

/** True for an answer of the gateway itself, not of a server on the way, by which it does not know the task. */
export function isUnknown(error: unknown): boolean {
  return isGatewayError(error) && error.name === "APIError" && isAbsent(error);
}

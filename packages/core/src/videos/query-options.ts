import { scoped } from "../base/scope.js";
import type { Client } from "../client.js";
import { intervalAfter } from "../tasks/poll.js";
import { isGatewayError } from "../vocabulary/errors.js";
import type { VideoTask, VideoTaskReference } from "../vocabulary/video-task.js";
import { getVideoTask, type VideoTaskWatchOptions, videos } from "./watch.js";

/** Options of a TanStack Query that polls a video task. */
export interface VideoTaskQueryOptions {
  /** Key of the task in the query cache: the gateway's address, with the client's scope, and the task's id. */
  readonly queryKey: readonly ["sluice", "video-task", string, string];
  /** Polls the task once. */
  readonly queryFn: (context: {
    /** Aborts the request. */
    readonly signal: AbortSignal;
  }) => Promise<VideoTask>;
  /** Milliseconds until the next poll; false as soon as another poll would not help. */
  readonly refetchInterval: (query: {
    /** State of the query in its cache. */
    readonly state: {
      /** Newest snapshot of the task. */
      readonly data: VideoTask | undefined;
      /** Error of the last poll; null where it succeeded. */
      readonly error: Error | null;
    };
  }) => number | false;
}

/**
 * Returns options for TanStack Query that poll a video task, for apps that use TanStack Query already.
 * `useVideoTask` works without it.
 *
 * @param task the handle that `createVideoTask` returned, also from JSON, or the id alone
 * @param options.intervalMs milliseconds between two polls; a function gets the last answer. Default 15 s.
 * @example
 * ```ts
 * const { data } = useQuery(videoTaskQueryOptions(client, handle));
 * ```
 */
export function videoTaskQueryOptions(
  client: Client,
  task: VideoTaskReference | string,
  { intervalMs = videos.intervalMs }: Pick<VideoTaskWatchOptions, "intervalMs"> = {},
): VideoTaskQueryOptions {
  const id = typeof task === "string" ? task : task?.id;
  return {
    queryKey: ["sluice", "video-task", scoped(client, client.baseURL), id],
    queryFn: ({ signal }) => getVideoTask(client, task, { signal }),
    refetchInterval: ({ state: { data, error } }) => {
      if ((data && videos.isFinal(data)) || isLasting(error)) return false;
      return intervalAfter(intervalMs, data);
    },
  };
}

/** There is nothing left to poll, or no permission to poll. */
function isLasting(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  return (
    error.name === "TaskExpiredError" || (error.name === "APIError" && [401, 403].includes(error.status))
  );
}

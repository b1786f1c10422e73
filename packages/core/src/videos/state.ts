import type { SucceededVideoTask, VideoTask, VideoTaskReference } from "../task.js";
import type { WatchState } from "../watch.js";

/** What a video task shows, in the words of TanStack Query. */
export interface VideoTaskState
  extends Pick<WatchState<VideoTask>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failure"> {
  /** `idle`: no task; `pending`: on the way; `success`: `data` has the video; `error`: `error` says why there is none. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** True from `submit` until the gateway has answered, `checkMedia` included: there is no task yet. */
  readonly isSubmitting: boolean;
  /** The task's id and what its receipt said; enough to go on with it anywhere. */
  readonly handle: VideoTaskReference | undefined;
  /** As last seen. */
  readonly task: VideoTask | undefined;
  /** From 0 to 1, where the gateway tells; never going back. */
  readonly progress: number | undefined;
  readonly data: SucceededVideoTask | undefined;
  readonly error: Error | undefined;
}

/** What a task shows of what the watch knows and of what the store does. */
export function videoTaskStateOf(
  { snapshot: task, fetchStatus, pauseReason, nextPollAt, failure }: WatchState<VideoTask>,
  {
    sending = false,
    handle,
    error,
  }: Pick<VideoTaskState, "handle" | "error"> & { readonly sending: boolean | undefined },
): VideoTaskState {
  const data = task?.state === "succeeded" ? task : undefined;
  const isOnTheWay = sending || handle !== undefined;
  return {
    status: data ? "success" : error ? "error" : isOnTheWay ? "pending" : "idle",
    isSubmitting: sending,
    handle,
    task,
    progress: data ? 1 : task?.progress,
    data,
    error,
    fetchStatus,
    pauseReason,
    nextPollAt,
    failure,
  };
}

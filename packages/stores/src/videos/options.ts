import type { RecordStorage, SucceededVideoTask, VideoTask, VideoTaskHandle } from "@sluice/core";
import type { Interval } from "@sluice/core/internal";
import type { TaskStoreOptions } from "../tasks/task-state.js";
import type { VideoTaskState } from "./state.js";

/** Options of a video task store; all but `storage` and `presence` are read at each use. */
export interface VideoTaskStoreOptions
  extends TaskStoreOptions<VideoTask, VideoTaskHandle, SucceededVideoTask, VideoTaskState> {
  /** Storage of tasks between page loads. Without it they last as long as the page. */
  readonly storage?: RecordStorage | undefined;
  /**
   * Milliseconds from an answer to the next poll, or a function of the task. It grows where a page polls more than
   * 20 tasks, so that all together are polled ten times in a second at most.
   *
   * @default 15_000
   */
  readonly intervalMs?: Interval<VideoTask> | undefined;
  /** Called once when a task fails, and when a `create` fails, with the state that shows it. */
  readonly onError?: ((error: Error, state: VideoTaskState) => void) | undefined;
}

/** Options of `create`. */
export interface VideoTaskCreateOptions<Checks extends boolean = boolean> {
  /** Name that the app gives to the task in its list. */
  readonly label?: string | undefined;
  /** False sends the request as it is, with any model and fields. @default true */
  readonly checks?: Checks | undefined;
}

/** Options of a list of video tasks. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "intervalMs" | "pollInBackground"
>;

import type { RecordStorage, SucceededVideoTask, VideoModel, VideoTask, VideoTaskHandle } from "@sluice/core";
import type { ModelRequest } from "@sluice/core/schemas";
import type { Interval } from "../tasks/polling.js";
import type { TaskStoreOptions } from "../tasks/task-state.js";
import type { VideoTaskState } from "./state.js";

/** The request of each video model. */
export type VideoRequests = { readonly [Model in VideoModel]: ModelRequest<Model> };

/** Options of a video task store; all but `storage` and `presence` are read at each use. */
export interface VideoTaskStoreOptions
  extends TaskStoreOptions<VideoTask, VideoTaskHandle, SucceededVideoTask, VideoTaskState> {
  /** Storage of tasks between page loads. Without it they last as long as the page. */
  readonly storage?: RecordStorage | undefined;
  /**
   * Milliseconds from a response to the next poll, or a function of the task. The interval grows if a page polls more than
   * 20 tasks, so that the page polls at most ten times per second.
   *
   * @default 15_000
   */
  readonly intervalMs?: Interval<VideoTask> | undefined;
  /** Called once when a task or a `create` fails, with the current state. */
  readonly onError?: ((error: Error, state: VideoTaskState) => void) | undefined;
}

/** Options of `create`. */
export interface VideoTaskCreateOptions<Checks extends boolean = boolean> {
  /** Name of the task in the app's list. */
  readonly label?: string | undefined;
  /** False sends the request as it is, with any model and fields. @default true */
  readonly checks?: Checks | undefined;
}

/** Options of a list of video tasks. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "intervalMs" | "pollInBackground"
>;

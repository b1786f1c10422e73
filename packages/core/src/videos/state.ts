import type { TaskState } from "../polling/task-store.js";
import type { SucceededVideoTask, VideoTask, VideoTaskReference } from "../video-task.js";

/** The state of one video task, in the words of TanStack Query. */
export interface VideoTaskState extends TaskState<SucceededVideoTask, VideoTaskReference> {
  /** True from `submit` until the gateway has answered, `checkMedia` included: there is no task yet. */
  readonly isSubmitting: boolean;
  /** The newest snapshot. */
  readonly task: VideoTask | undefined;
  /** From 0 to 1, where the gateway tells; never going back. */
  readonly progress: number | undefined;
}

/** A video that was asked for. Plain JSON but for `error`. */
export interface VideoTaskEntry {
  /** Ours: it is there before the gateway gives the task an id. */
  readonly key: string;
  readonly model: string;
  /** Unix milliseconds. */
  readonly submittedAt: number;
  /** The app's own name for it. */
  readonly label?: string;
  /**
   * `submitting`: sent, not yet answered. `created`: the gateway gave it a handle. `unconfirmed`: nobody knows whether
   * the gateway has it, and bills it; `error` says what to do.
   */
  readonly state: "submitting" | "created" | "unconfirmed";
  readonly handle?: VideoTaskReference;
  /** As last seen. */
  readonly task?: VideoTask;
  readonly error?: Error;
}

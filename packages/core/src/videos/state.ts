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

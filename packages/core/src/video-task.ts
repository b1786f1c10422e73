/** A video task by its id, with the facts of its receipt where they are at hand. */
export interface VideoTaskReference {
  readonly id: string;
  readonly model?: string | undefined;
  /** Time at which the gateway took the task; Unix milliseconds. */
  readonly createdAt?: number | undefined;
  /** Until when the task can be asked about; Unix milliseconds. An estimate, for the `beta` family: 24 hours. */
  readonly queryableUntil?: number | undefined;
}

/** A created video task. Plain JSON: keep it, and go on with the task after a reload or elsewhere. */
export interface VideoTaskHandle extends VideoTaskReference {
  readonly model: string;
  readonly createdAt: number;
}

/** The fields of every snapshot of a task. Times are Unix milliseconds, and absent until they are known. */
interface VideoTaskFacts {
  readonly id: string;
  readonly model?: string;
  /** The gateway's own word for `state`. */
  readonly rawStatus: string;
  /** From 0 to 1, where the gateway tells. 1 is no success: only `state` says that. */
  readonly progress?: number;
  readonly submittedAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** The answer as it came, with the fields that we do not know. */
  readonly raw: unknown;
}

/** A task that is not over. */
export interface PendingVideoTask extends VideoTaskFacts {
  /**
   * `unknown`: a status that the spec does not have. `result-pending`: the gateway says success but gives no URL yet.
   */
  readonly state: "queued" | "running" | "unknown" | "result-pending";
}

/** A task whose video is there. */
export interface SucceededVideoTask extends VideoTaskFacts {
  readonly state: "succeeded";
  /** The video's temporary address. Fetch it without the gateway's headers, and keep a copy. */
  readonly url: string;
  /** The field that `url` was found in: `data.result_url`, `content.video_url`, … `data.fail_reason` is a last resort. */
  readonly urlSource: string;
  /** Until when `url` works; Unix milliseconds. An estimate, for the `beta` family: 24 hours after the end. */
  readonly expiresAt?: number;
}

/** A task that failed, or that was cancelled or expired at the gateway. */
export interface FailedVideoTask extends VideoTaskFacts {
  readonly state: "failed";
  /** Why, where the gateway tells. */
  readonly reason?: string;
}

/** One snapshot of a video task, discriminated by `state`; plain JSON. */
export type VideoTask = PendingVideoTask | SucceededVideoTask | FailedVideoTask;

/** Reads a query's answer into a {@link VideoTask}; `model` is what the caller knows. */
export type VideoTaskNormalizer = (
  raw: unknown,
  known: { readonly id: string; readonly model?: string | undefined },
) => VideoTask;

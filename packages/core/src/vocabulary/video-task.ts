/**
 * A video task by its id, with the facts of its receipt that are known. Plain JSON: store it to continue with the task
 * after a reload or elsewhere.
 */
export interface VideoTaskHandle {
  /** Id of the task, as the gateway gave it. */
  readonly id: string;
  /** Model that makes the video. */
  readonly model?: string | undefined;
  /** Time at which the gateway accepted the task; Unix milliseconds. */
  readonly createdAt?: number | undefined;
  /**
   * End of the time in which the task can be queried; Unix milliseconds. An estimate for `beta` models: 24
   * hours.
   */
  readonly queryableUntil?: number | undefined;
  /**
   * `proxy`: the proxy watches the task, also while no page is open, and is told when the user removes it. Absent for
   * other gateways.
   */
  readonly watchedBy?: "proxy" | undefined;
}

/** The fields of every snapshot of a task. Times are Unix milliseconds, and absent until they are known. */
interface VideoTaskFacts {
  /** Id of the task. */
  readonly id: string;
  /** Model that makes the video; absent where it is not known. */
  readonly model?: string;
  /** Status as the gateway wrote it. */
  readonly rawStatus: string;
  /**
   * Share of the work that is done, from 0 to 1; absent where the gateway reports none. A progress of 1 is not yet a
   * success: only `state` shows it.
   */
  readonly progress?: number;
  /** Time at which the gateway accepted the task; Unix milliseconds. */
  readonly submittedAt?: number;
  /** Time at which the gateway began to make the video; Unix milliseconds. */
  readonly startedAt?: number;
  /** Time at which the task ended; Unix milliseconds. */
  readonly finishedAt?: number;
  /** Answer of the gateway, unchanged, with unknown fields. */
  readonly raw: unknown;
}

/** A task that has not ended. */
export interface PendingVideoTask extends VideoTaskFacts {
  /**
   * `queued`: the gateway has not begun. `running`: it makes the video. `unknown`: a status that the spec
   * does not have. `result-pending`: the gateway reports success but gives no URL yet.
   */
  readonly state: "queued" | "running" | "unknown" | "result-pending";
}

/** A task that has its video. */
export interface SucceededVideoTask extends VideoTaskFacts {
  /** `succeeded`: the video is there. */
  readonly state: "succeeded";
  /** Temporary address of the video. Fetch it without the gateway's headers, and keep a copy. */
  readonly url: string;
  /** Temporary address of the film's last frame, an image; absent unless `return_last_frame` was asked for. */
  readonly lastFrameURL?: string;
  /** The field that `url` was found in: `data.result_url`, `content.video_url`, … `data.fail_reason` is a last resort. */
  readonly urlSource: string;
  /**
   * End of the life of `url`; Unix milliseconds. An estimate for `beta` models and with an archive: 24 hours after the
   * end.
   */
  readonly expiresAt?: number;
  /**
   * End of the time for which the proxy's archive keeps a copy; Unix milliseconds. Until then a store or a list renews
   * `url` and `lastFrameURL` when they expire, with a request to the proxy alone. Absent without an archive.
   */
  readonly keptUntil?: number;
}

/** A task that failed, or that was cancelled or expired at the gateway. */
export interface FailedVideoTask extends VideoTaskFacts {
  /** `failed`: there will be no video. */
  readonly state: "failed";
  /** Reason of the failure, where the gateway gives one. */
  readonly reason?: string;
}

/** Snapshot of a video task, discriminated by `state`. Plain JSON. */
export type VideoTask = PendingVideoTask | SucceededVideoTask | FailedVideoTask;

/** Reads the answer of a query as a {@link VideoTask}. `known` has the facts that the caller already has. */
export type VideoTaskParser = (
  raw: unknown,
  known: {
    /** Id of the query. */
    readonly id: string;
    /** Model of the task, where the caller knows it. */
    readonly model?: string | undefined;
  },
) => VideoTask;

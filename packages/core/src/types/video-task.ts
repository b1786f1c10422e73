/**
 * Handle of a video task: its id and metadata. Plain JSON: store it to continue after a reload or on another device.
 */
export interface VideoTaskHandle {
  /** Id of the task at the gateway. */
  readonly id: string;
  /** Model of the video. */
  readonly model?: string | undefined;
  /** Time at which the gateway accepted the task; Unix milliseconds. */
  readonly createdAt?: number | undefined;
  /** Time until which the task can be queried; Unix milliseconds. An estimate for `beta` models: 24 hours. */
  readonly queryableUntil?: number | undefined;
  /**
   * `proxy`: the proxy watches the task, even while no page is open. The client tells it when the user removes the
   * task. Absent without such a proxy.
   */
  readonly watchedBy?: "proxy" | undefined;
}

/** The fields of every snapshot of a task. Times are Unix milliseconds, and absent while unknown. */
interface VideoTaskFields {
  /** Id of the task. */
  readonly id: string;
  /** Model of the video; absent if unknown. */
  readonly model?: string;
  /** Status as the gateway wrote it. */
  readonly rawStatus: string;
  /**
   * Completed share of the work, from 0 to 1; absent if the gateway reports none. A progress of 1 does not mean
   * success: only `state` does.
   */
  readonly progress?: number;
  /** Time at which the gateway accepted the task; Unix milliseconds. */
  readonly submittedAt?: number;
  /** Time at which the gateway started the video; Unix milliseconds. */
  readonly startedAt?: number;
  /** Time at which the task ended; Unix milliseconds. */
  readonly finishedAt?: number;
  /** The gateway's response, unchanged, with unknown fields. */
  readonly raw: unknown;
}

/** A pending task. */
export interface PendingVideoTask extends VideoTaskFields {
  /**
   * `queued`: the gateway has not started. `running`: it generates the video. `unknown`: a status that is not in the
   * spec. `result-pending`: the gateway reports success but no URL yet.
   */
  readonly state: "queued" | "running" | "unknown" | "result-pending";
}

/** A task with its video. */
export interface SucceededVideoTask extends VideoTaskFields {
  /** `succeeded`: the video is available. */
  readonly state: "succeeded";
  /** Temporary address of the video. Fetch it without the gateway's headers and store a copy. */
  readonly url: string;
  /** Temporary address of the video's last frame, an image; absent without `return_last_frame`. */
  readonly lastFrameURL?: string;
  /**
   * The field of the response with the `url`: `data.result_url`, `content.video_url`, … `data.fail_reason` is a last
   * resort.
   */
  readonly urlSource: string;
  /**
   * Time at which `url` expires; Unix milliseconds. An estimate for `beta` models and with an archive: 24 hours after
   * the end.
   */
  readonly expiresAt?: number;
  /**
   * Time until which the proxy's archive stores a copy; Unix milliseconds. Before it, a store or a list renews an
   * expired `url` or `lastFrameURL` with a request to the proxy only. Absent without an archive.
   */
  readonly storedUntil?: number;
}

/** A task that failed, expired or was cancelled at the gateway. */
export interface FailedVideoTask extends VideoTaskFields {
  /** `failed`: the task ended without a video. */
  readonly state: "failed";
  /** Reason of the failure, if the gateway reports one. */
  readonly reason?: string;
}

/** Snapshot of a video task, discriminated by `state`. Plain JSON. */
export type VideoTask = PendingVideoTask | SucceededVideoTask | FailedVideoTask;

/** Parses the response of a query to a {@link VideoTask}. `known` has the metadata that the caller already knows. */
export type VideoTaskParser = (
  raw: unknown,
  known: {
    /** Id of the task. */
    readonly id: string;
    /** Model of the task, if the caller knows it. */
    readonly model?: string | undefined;
  },
) => VideoTask;

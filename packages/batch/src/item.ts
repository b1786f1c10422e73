import type { ChatResult, ImageResult, SucceededVideoTask, VideoTaskHandle } from "@sluice/core";
import type { BatchKind } from "./request.js";

/** Results by kind, as the ledger stores them: without `raw`. */
export interface BatchResults {
  /** Images of the request. Links last about a day: save the files in `onResult`. */
  readonly image: Omit<ImageResult, "raw">;
  /** The finished task, with the `url` of its video. */
  readonly video: Omit<SucceededVideoTask, "raw">;
  /** The response: its message, usage and outcome. */
  readonly chat: Omit<ChatResult, "raw">;
}

type ResultOf<Kind extends BatchKind> = Kind extends BatchKind
  ? {
      /** Id of the request. */
      readonly id: string;
      /** Kind of the request; narrows `result`. */
      readonly kind: Kind;
      /** Model of the request. */
      readonly model: string;
      /** Result of the request. Plain JSON. */
      readonly result: BatchResults[Kind];
    }
  : never;

/** A request with its result, discriminated by `kind`. */
export type BatchResult = ResultOf<BatchKind>;

/**
 * State of a request.
 *
 * - `waiting`: not sent yet, or rejected for now; not billed
 * - `running`: sent, or the gateway generates the video, or `onResult` runs
 * - `done`: the request has its result, and `onResult` has resolved
 * - `failed`: the request ended with an `error`. Only `retry` sends it again
 * - `unconfirmed`: the gateway may have billed it. Only `retry` sends it again
 */
export type BatchItemState = "waiting" | "running" | "done" | "failed" | "unconfirmed";

/** A request of a batch with its current state. */
export interface BatchItem {
  /** Id of the request. */
  readonly id: string;
  /** Kind of the request. */
  readonly kind: BatchKind;
  /** Model of the request. */
  readonly model: string;
  /** State of the request. */
  readonly state: BatchItemState;
  /** Its result, once it exists. */
  readonly result?: BatchResults[BatchKind];
  /**
   * Error of a failed or unconfirmed request. After a reload, it is a plain `Error` with the `name`, `message`,
   * `billing` and `status` of the original.
   */
  readonly error?: Error;
  /** Handle of a video task. */
  readonly handle?: VideoTaskHandle;
}

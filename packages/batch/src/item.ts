import type { ChatTurn, ImageResult, SucceededVideoTask, VideoTaskReference } from "@sluice/core";
import type { BatchKind } from "./request.js";

/** Results by kind, as the ledger keeps them: without `raw`. */
export interface BatchResults {
  /** Images of the request. Links last about a day: save the files in `onResult`. */
  readonly image: Omit<ImageResult, "raw">;
  /** The finished task, with the `url` of its video. */
  readonly video: Omit<SucceededVideoTask, "raw">;
  /** The answer: its message, usage and outcome. */
  readonly chat: Omit<ChatTurn, "raw">;
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

/** A request that has its result. `kind` tells which one. */
export type BatchResult = ResultOf<BatchKind>;

/**
 * State of a request.
 *
 * - `waiting`: not sent yet, or refused for now; not billed
 * - `running`: sent, or its video is being made, or `onResult` has it
 * - `done`: it has its result, and `onResult` has taken it
 * - `failed`: it has ended with an `error`, and is not sent again before `retry`
 * - `unknown`: nobody knows if it was made, and billed. It is never sent again before `retry`
 */
export type BatchItemState = "waiting" | "running" | "done" | "failed" | "unknown";

/** A request of a batch, as it is now. */
export interface BatchItem {
  /** Id of the request. */
  readonly id: string;
  /** Kind of the request. */
  readonly kind: BatchKind;
  /** Model of the request. */
  readonly model: string;
  /** State of the request. */
  readonly state: BatchItemState;
  /** Its result, once there is one; as in {@link BatchResult}. */
  readonly result?: BatchResults[BatchKind];
  /**
   * Error of a failed or unknown request. After a reload it has `name`, `message`, `outcome` and `status` of the first
   * one, and is no `GatewayError`.
   */
  readonly error?: Error;
  /** Handle of a video task. */
  readonly handle?: VideoTaskReference;
}

import type { Store } from "@sluice/core";
import type { BatchItem, BatchItemState } from "./item.js";

/**
 * Status of a batch.
 *
 * - `idle`: no run has started in this page or process
 * - `running`: requests are in flight, or `onResult` runs
 * - `paused`: nothing is sent before `pausedUntil`, because the gateway rejects requests for now or is unreachable
 * - `locked`: another tab or process runs the batch. This one shows the ledger and continues after the other run
 * - `stopped`: `stop` or `signOut` ended the run. Nothing more is sent, but `running` requests finish
 * - `done`: no request is left to send. Some may be failed or unconfirmed
 * - `error`: the run ended early; `error` has the reason, and `run` continues it
 */
export type BatchStatus = "idle" | "running" | "paused" | "locked" | "stopped" | "done" | "error";

/** State of a batch. */
export interface BatchState extends Readonly<Record<BatchItemState, number>> {
  /** Current status of the batch. */
  readonly status: BatchStatus;
  /** Number of requests in the list. */
  readonly total: number;
  /** Current limit of requests in flight. It falls after a 429 and grows back to the option. */
  readonly concurrency: number;
  /** End of the pause; Unix milliseconds. Undefined without a pause. */
  readonly pausedUntil: number | undefined;
  /** Reason of the status `error`. With the status `paused`, the rejection that caused the pause. */
  readonly error: Error | undefined;
}

/** A batch of requests with a ledger. */
export interface Batch extends Store<BatchState> {
  /**
   * Sends all requests that are not done. Resolves when none is left or the run ended early. Reads the list again.
   * Never rejects: the state has the `error`. A second call during the run returns the same promise. A call after
   * `stop` continues the batch.
   */
  run(): Promise<BatchState>;
  /** Stops sending. Requests in flight finish. Polling stops, but videos continue at the gateway. */
  stop(): void;
  /**
   * Sends failed and unconfirmed requests again, in the current or the next run. Polls a video with a known task
   * instead. An unconfirmed request may be billed twice, unless the proxy has `idempotency()` and only the response was lost.
   * Other requests stay unchanged. Rejects if the ledger can't be written.
   */
  retry(...ids: readonly string[]): Promise<void>;
  /**
   * Gives up unconfirmed requests: they become `failed` and keep their error. Rejects if the ledger can't be written.
   */
  skip(...ids: readonly string[]): Promise<void>;
  /** Returns the current state of a request; undefined for an unknown id. */
  getItem(id: string): BatchItem | undefined;
  /** Returns all requests in the order of the list, or the requests in one state. The same array until the next change. */
  getItems(state?: BatchItemState): readonly BatchItem[];
}

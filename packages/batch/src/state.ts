import type { Store } from "@sluice/core";
import type { BatchItem, BatchItemState } from "./item.js";

/**
 * Status of a batch.
 *
 * - `idle`: no run has started here
 * - `running`: requests are in flight, or `onResult` runs
 * - `paused`: nothing is sent until `pausedUntil`, because the gateway refuses for now or can't be reached
 * - `locked`: another tab or process runs the batch. This one shows the ledger, and continues when the other one ends
 * - `stopped`: `stop` or `signOut` ended the run. Nothing more is sent; `running` requests come to their end
 * - `done`: no request is left to send. Some may be failed or unconfirmed
 * - `error`: the run ended early; `error` has the reason, and `run` continues it
 */
export type BatchStatus = "idle" | "running" | "paused" | "locked" | "stopped" | "done" | "error";

/** Counts of one model. Prices make money of them. */
export interface BatchUsage {
  /** Requests that have a result. */
  readonly requests: number;
  /** Images that were made. */
  readonly images: number;
  /** Videos that were made. */
  readonly videos: number;
  /** Tokens of the requests, where the gateway reported them. */
  readonly promptTokens: number;
  /** Tokens of the answers and images, where the gateway reported them. */
  readonly outputTokens: number;
  /** All tokens, where the gateway reported them. */
  readonly totalTokens: number;
}

/** State of a batch. */
export interface BatchState extends Readonly<Record<BatchItemState, number>> {
  /** Work of the batch now. */
  readonly status: BatchStatus;
  /** Number of requests in the list. */
  readonly total: number;
  /** Usage of all results so far by model, those of earlier runs included. */
  readonly usage: Readonly<Record<string, BatchUsage>>;
  /** The maximum of requests in flight now: falls after a 429, and grows up to the option again. */
  readonly concurrency: number;
  /** End of the pause; Unix milliseconds. Undefined while nothing is paused. */
  readonly pausedUntil: number | undefined;
  /** Reason of the status `error`; with the status `paused` the refusal that it waits for. */
  readonly error: Error | undefined;
}

/** A batch of requests with a ledger. */
export interface Batch extends Store<BatchState> {
  /**
   * Sends what is not done yet, and resolves when nothing is left or the run ended early. Reads the list anew. Never
   * rejects: the state has the `error`. Called again while it runs, it returns the same promise; after `stop` it
   * continues.
   */
  run(): Promise<BatchState>;
  /** Sends nothing more. Requests in flight come to their end; videos are no longer polled, and continue at the gateway. */
  stop(): void;
  /**
   * Sends failed and unconfirmed requests again, by the run in progress or the next one. A video whose task is known is
   * polled again instead. An unconfirmed request may be billed twice, unless the proxy offers `once` and only the response
   * was lost. Other requests stay as they are. Rejects if the ledger can't be written.
   */
  retry(...ids: readonly string[]): Promise<void>;
  /** Gives up unconfirmed requests: they become `failed`, and keep their error. Rejects if the ledger can't be written. */
  skip(...ids: readonly string[]): Promise<void>;
  /** Returns a request as it is now; undefined for an unknown id. */
  getItem(id: string): BatchItem | undefined;
  /** Returns all requests in the order of the list, or the requests in one state. The same array until the next change. */
  getItems(state?: BatchItemState): readonly BatchItem[];
}

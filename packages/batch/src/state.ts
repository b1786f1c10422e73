import type { Store } from "@sluice/core";
import type { BatchItem, BatchItemState } from "./item.js";

/**
 * Status of a batch.
 *
 * - `idle`: it was not run here
 * - `running`: requests are sent, or their results handed over
 * - `paused`: nothing is sent until `pausedUntil`, because the gateway refuses for now or can't be reached
 * - `elsewhere`: another tab or process runs it. This one shows its ledger, and takes it over when the other one ends
 * - `stopping`: nothing is sent any more, and what is in flight comes to its end
 * - `stopped`: `stop` has ended the run, or `signOut`
 * - `ended`: nothing is left to send. Some requests may be failed or unknown
 * - `error`: the run has ended early; `error` has the reason, and `run` continues it
 */
export type BatchStatus =
  | "idle"
  | "running"
  | "paused"
  | "elsewhere"
  | "stopping"
  | "stopped"
  | "ended"
  | "error";

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
  /** Most requests in flight now: falls after a 429, and grows up to `limit` again. */
  readonly width: number;
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
   * Lets requests that are failed or unknown be sent again, by the run in progress or the next one. A video whose task is
   * known is polled again instead. An unknown request may be billed twice by it, unless the proxy offers `once` and its
   * answer was lost on the way. Other requests stay as they are. Rejects if the ledger can't be written.
   */
  retry(...ids: readonly string[]): Promise<void>;
  /** Gives up unknown requests: they become `failed`, and their error stays. Rejects if the ledger can't be written. */
  accept(...ids: readonly string[]): Promise<void>;
  /** Returns a request as it is now; undefined for an unknown id. */
  item(id: string): BatchItem | undefined;
  /** Returns all requests in the order of the list, or those in one state. The same array until the next change. */
  items(state?: BatchItemState): readonly BatchItem[];
}

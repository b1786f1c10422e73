import { type Billing, isGatewayError, type VideoTaskHandle } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import type { BatchItemState, BatchResults } from "./item.js";
import type { BatchKind } from "./request.js";

/** Record of one request in the ledger. A request without a record was never sent. */
export interface BatchRecord {
  /** Number of changes of the record. */
  readonly rev: number;
  /**
   * `waiting`: ready to send. `sending`: sent, now or when its run ended. `created`: the gateway generates the video.
   * `received`: the result exists, but `onResult` has not resolved.
   */
  readonly state: "waiting" | "sending" | "created" | "received" | "done" | "failed" | "unconfirmed";
  /** Fingerprint of the request. */
  readonly fingerprint: string;
  /** The `idempotency-key` of its attempts. */
  readonly key?: string | undefined;
  /** Time of the first attempt with this key; Unix milliseconds. */
  readonly sentAt?: number | undefined;
  /** True if an attempt with this key has an unknown result. */
  readonly open?: boolean | undefined;
  readonly handle?: VideoTaskHandle | undefined;
  readonly result?: BatchResults[BatchKind] | undefined;
  readonly error?: StoredError | undefined;
}

interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly billing?: Billing | undefined;
  readonly status?: number | undefined;
}

/** State for the user, by the record's state. */
export const shownStates: Readonly<Record<BatchRecord["state"], BatchItemState>> = {
  waiting: "waiting",
  sending: "running",
  created: "running",
  received: "running",
  done: "done",
  failed: "failed",
  unconfirmed: "unconfirmed",
};

/** Converts an error to the fields that the ledger stores. */
export function toStoredError(error: Error, billing: Billing | undefined): StoredError {
  const { name, message } = error;
  const status = isGatewayError(error) && error.name === "APIError" ? error.status : undefined;
  return { name, message, billing, status };
}

/** Restores an error from its stored fields. */
export function restoreError(stored: StoredError): Error {
  return Object.assign(new Error(), stored);
}

/**
 * Parses a record, because a storage may contain any value. An unreadable record is `unconfirmed`: its request may have
 * been sent.
 */
export function parseRecord(value: unknown, fingerprint: string): BatchRecord {
  const record = (isRecord(value) ? value : {}) as Partial<BatchRecord>;
  const { rev, state } = record;
  const hasState = typeof state === "string" && Object.hasOwn(shownStates, state);
  const isWhole =
    hasState &&
    Number.isSafeInteger(rev) &&
    typeof record.fingerprint === "string" &&
    (state !== "created" || typeof record.handle?.id === "string") &&
    ((state !== "received" && state !== "done") || isRecord(record.result));
  if (isWhole) return record as BatchRecord;
  const message = "the ledger's record of this request can't be read: it may have been sent";
  const error: StoredError = { name: "Error", message, billing: "maybe" };
  return { rev: 0, state: "unconfirmed", fingerprint, error };
}

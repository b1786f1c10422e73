import { type Billing, isGatewayError, type VideoTaskHandle } from "@sluice/core";
import type { BatchItemState, BatchResults } from "./item.js";
import type { BatchKind } from "./request.js";

/** Record of one request in the ledger. A request without a record was never sent. */
export interface BatchRecord {
  /** Number of the record's changes. */
  readonly rev: number;
  /**
   * `waiting`: it may be sent. `sending`: it is sent, or was when its run ended. `created`: its video is being made.
   * `answered`: its result is there, and `onResult` has not taken it.
   */
  readonly state: "waiting" | "sending" | "created" | "answered" | "done" | "failed" | "unconfirmed";
  /** Fingerprint of the request. */
  readonly fingerprint: string;
  /** The `idempotency-key` of its attempts. */
  readonly key?: string | undefined;
  /** Time of the first attempt with this key; Unix milliseconds. */
  readonly sentAt?: number | undefined;
  /** True if an attempt with this key has no known end. */
  readonly open?: boolean | undefined;
  readonly handle?: VideoTaskHandle | undefined;
  readonly result?: BatchResults[BatchKind] | undefined;
  readonly error?: KeptError | undefined;
}

interface KeptError {
  readonly name: string;
  readonly message: string;
  readonly billing?: Billing | undefined;
  readonly status?: number | undefined;
}

/** State that a user sees, by that of the record. */
export const shownStates: Readonly<Record<BatchRecord["state"], BatchItemState>> = {
  waiting: "waiting",
  sending: "running",
  created: "running",
  answered: "running",
  done: "done",
  failed: "failed",
  unconfirmed: "unconfirmed",
};

/** Makes the part of an error that is kept. */
export function keptError(error: Error, billing: Billing | undefined): KeptError {
  const { name, message } = error;
  const status = isGatewayError(error) && error.name === "APIError" ? error.status : undefined;
  return { name, message, billing, status };
}

/** Makes an error of its kept part. */
export function errorOf(kept: KeptError): Error {
  return Object.assign(new Error(), kept);
}

/**
 * Reads a record. A storage may hold any value. A record that can't be read is `unconfirmed`, because its request may
 * have been sent.
 */
export function recordIn(value: unknown, fingerprint: string): BatchRecord {
  const record = (isRecord(value) ? value : {}) as Partial<BatchRecord>;
  const { rev, state } = record;
  const hasState = typeof state === "string" && Object.hasOwn(shownStates, state);
  const isWhole =
    hasState &&
    Number.isSafeInteger(rev) &&
    typeof record.fingerprint === "string" &&
    (state !== "created" || typeof record.handle?.id === "string") &&
    ((state !== "answered" && state !== "done") || isRecord(record.result));
  if (isWhole) return record as BatchRecord;
  const message = "the ledger's record of this request can't be read: it may have been sent";
  const error: KeptError = { name: "Error", message, billing: "maybe" };
  return { rev: 0, state: "unconfirmed", fingerprint, error };
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

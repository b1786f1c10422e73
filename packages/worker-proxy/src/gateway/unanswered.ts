import type { Refusal } from "../refusals/refusal.js";
import { failed } from "./call.js";

/* Loaded when the gateway gave no answer. */

/**
 * Time within which an attempt to connect fails, in milliseconds. workerd throws the same error where a connection is
 * cut after the request was sent: only the time tells them apart.
 */
const CONNECT_MS = 5000;
/** Codes of errors by which other hosts say that no connection was made. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Returns true for an error that says that no connection was made. Errors of workerd never say so. */
export function isUnconnected(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return NO_CONNECTION.test(String(cause?.code ?? code));
}

/** Refusal of a call whose `fetch` failed after that many milliseconds. */
export function unanswered(error: unknown, ms: number): Refusal {
  const isUnsent = ms < CONNECT_MS || isUnconnected(error);
  return failed(isUnsent ? "upstream_unreachable" : "upstream_cut", undefined, error);
}

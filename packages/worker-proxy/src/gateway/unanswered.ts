import type { Refusal } from "../refusals/refusal.js";
import { failed } from "./call.js";

/* Loaded when the gateway gave no answer. */

/**
 * The time within which a connection fails that was never made, in milliseconds. workerd throws the same error for one
 * that was cut after the request had been sent: only the time tells them apart.
 */
const CONNECT_MS = 5000;
/** Errors of other hosts that say that there was no connection. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Returns true where the host says that there was no connection. Those of workerd never say so. */
export function isUnconnected(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return NO_CONNECTION.test(String(cause?.code ?? code));
}

/** Refusal of a call whose `fetch` failed after that many milliseconds. */
export function unanswered(error: unknown, ms: number): Refusal {
  const isUnsent = ms < CONNECT_MS || isUnconnected(error);
  return failed(isUnsent ? "upstream_unreachable" : "upstream_cut", undefined, error);
}

import type { CallOutcome } from "../admitted.js";

/**
 * The time within which a connection fails that was never made, in milliseconds. workerd throws the same error
 * for a refused connection and for one that was cut after the request had been sent, so that only the time is left to
 * tell them apart. A gateway that works longer than this before a cut is paid.
 */
const CONNECT_MS = 5000;
/** Errors of other hosts that say that there was no connection. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** The outcome of a `fetch` that threw `afterMs` milliseconds after it began. */
export function outcomeOfThrow(error: unknown, afterMs: number): CallOutcome {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const isUnsent = afterMs < CONNECT_MS || NO_CONNECTION.test(String(cause?.code ?? code));
  return isUnsent ? "not_reached" : "unknown";
}

/**
 * Statuses of a wait that ended before the work did, and of a connection that Cloudflare lost after it had been made.
 * The work may be done, and a user could ask for answers that take that long.
 */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

/** The outcome of an answer whose status is no success. */
export function outcomeOfStatus(status: number): CallOutcome {
  return MAY_HAVE_WORKED.includes(status) ? "unknown" : "refused";
}

/** The outcome of an answer that was read in full but is no JSON: a page is none, JSON that was cut is. */
export function outcomeOfText(text: string): CallOutcome {
  return /^\s*[^\s{["]/.test(text) ? "refused" : "unknown";
}

/** The outcome of a JSON answer: with an `error` and nothing else that could be one, the gateway has refused. */
export function outcomeOfJSON(json: unknown): CallOutcome {
  const { error, choices, data, usage } = { ...(json as Record<string, unknown>) };
  return error && !choices && !data && !usage ? "refused" : "answered";
}

/** The outcome of a stream by its end. What its choices have finished before a cut is an answer. */
export function outcomeOfStream({
  code,
  isFinished,
  hasContent,
}: {
  readonly code?: string;
  readonly isFinished: boolean;
  readonly hasContent: boolean;
}): CallOutcome {
  if (code === undefined || isFinished) return "answered";
  return code === "upstream_error" && !hasContent ? "refused" : "unknown";
}

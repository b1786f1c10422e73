import { addAdvice } from "../base/advice.js";
import { type Clock, openSpan, rejectOnAbort } from "../base/clock.js";
import { APIError } from "../types/errors.js";
import { createAPIError } from "./describe-response.js";
import { readRequestId } from "./failure.js";
import { type BodyReader, createBodyReader } from "./read-body.js";

/** Longest wait for the body of a rejection, in milliseconds. */
const REFUSAL_MS = 5000;

/** Largest number of characters of the body to read. */
const REFUSAL_LENGTH = 65_536;

/**
 * Reads the error of a response with an error status. The status decides, so a truncated, stalled or endless body is
 * fine. Reads only the beginning of a long body.
 */
export async function readRefusal(
  response: Response,
  {
    clock,
    scrub,
  }: {
    /** Clock of the limits. */
    readonly clock: Clock;
    /** Removes the keys from a text. */
    readonly scrub: (text: string) => string;
  },
  signal: AbortSignal,
): Promise<APIError> {
  const { status, type, headers } = response;
  const requestId = readRequestId(response);
  const reader = createBodyReader(response);
  const span = openSpan(clock, signal, REFUSAL_MS, () => undefined);
  try {
    if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const text = `HTTP ${status || "redirect"}: the base URL redirects`;
      const error = new APIError(text, { status, reason: "wrong-address", body: "" }, { requestId });
      addAdvice(error, "; set baseURL to the final address");
      return error;
    }
    const retryAfterMs = readRetryAfter(headers);
    const text = await readStart(() => rejectOnAbort(reader.read(), span.signal));
    const source = headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
    // without the keys before the text is cut, because half a key would not be recognized
    return createAPIError(response, scrub(text), { requestId, retryAfterMs, source });
  } finally {
    span.end();
    reader.cancel().catch(() => {});
  }
}

async function readStart(read: BodyReader["read"]): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < REFUSAL_LENGTH) {
      const { done, value } = await read();
      if (done) break;
      text += decoder.decode(value as Uint8Array, { stream: true });
    }
  } catch {
    // the body was truncated or stalled
  }
  return text.slice(0, REFUSAL_LENGTH);
}

/** Parses `Retry-After` to milliseconds: seconds, also with a fraction, or a date; undefined for other values. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

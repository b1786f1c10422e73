import { type Clock, openSpan, rejectOnAbort } from "../base/clock.js";
import type { APIError } from "../vocabulary/errors.js";
import { createAPIError } from "./error-response.js";
import { readRequestId } from "./failure.js";
import { createBodyReader, createToBytes } from "./read-body.js";

/**
 * Makes the error of an answer with a status of failure. The status decides. A body that is cut, silent or endless does
 * not matter, and the beginning of a long one is enough.
 */
export async function readRefusal(
  response: Response,
  { clock, scrub }: { readonly clock: Clock; readonly scrub: (text: string) => string },
  signal: AbortSignal,
): Promise<APIError> {
  const requestId = readRequestId(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    createBodyReader(response)
      .cancel()
      .catch(() => {});
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return createAPIError(response, "", { requestId, reason: "wrong-address", fields: { message } });
  }
  const retryAfterMs = readRetryAfter(response);
  // before the text is cut: the half of a key would not be recognised
  const body = scrub(await readStart(response, clock, signal));
  const source = response.headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return createAPIError(response, body, { requestId, retryAfterMs, source });
}

/** Largest number of characters of a refusal's body that are read, and the longest wait for them. */
const REFUSAL_LENGTH = 65_536;
const REFUSAL_MS = 5000;

async function readStart(response: Response, clock: Clock, caller: AbortSignal): Promise<string> {
  const { signal, end } = openSpan(clock, caller, REFUSAL_MS, () => undefined);
  const reader = createBodyReader(response);
  const toBytes = createToBytes();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < REFUSAL_LENGTH) {
      const { done, value } = await rejectOnAbort(reader.read(), signal);
      if (done) break;
      text += decoder.decode(await toBytes(value), { stream: true });
    }
  } catch {
    // the body was cut, or was silent for too long
  }
  end();
  reader.cancel().catch(() => {});
  return text.slice(0, REFUSAL_LENGTH);
}

/** Reads `Retry-After` as milliseconds: seconds, also with a fraction, or a date; undefined for other values. */
function readRetryAfter({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

import { type Clock, openSpan, unlessAborted } from "../base/clock.js";
import type { APIError } from "../vocabulary/errors.js";
import { apiErrorOf } from "./error-response.js";
import { requestIdOf } from "./failure.js";
import { bodyReaderOf, createBytesOf } from "./read-body.js";

/**
 * Makes the error of an answer with a status of failure. The status decides. A body that is cut, silent or endless does
 * not matter, and the beginning of a long one is enough.
 */
export async function errorOf(
  response: Response,
  { clock, scrub }: { readonly clock: Clock; readonly scrub: (text: string) => string },
  signal: AbortSignal,
): Promise<APIError> {
  const requestId = requestIdOf(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    bodyReaderOf(response)
      .cancel()
      .catch(() => {});
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return apiErrorOf(response, "", { requestId, reason: "wrong-address", fields: { message } });
  }
  const retryAfterMs = retryAfterOf(response);
  // before the text is cut: the half of a key would not be recognised
  const body = scrub(await startOf(response, clock, signal));
  const source = response.headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return apiErrorOf(response, body, { requestId, retryAfterMs, source });
}

/** Largest number of characters of a refusal's body that are read, and the longest wait for them. */
const REFUSAL_LENGTH = 65_536;
const REFUSAL_MS = 5000;

async function startOf(response: Response, clock: Clock, caller: AbortSignal): Promise<string> {
  const { signal, end } = openSpan(clock, caller, REFUSAL_MS, () => undefined);
  const reader = bodyReaderOf(response);
  const bytesOf = createBytesOf();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < REFUSAL_LENGTH) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) break;
      text += decoder.decode(await bytesOf(value), { stream: true });
    }
  } catch {
    // the body was cut, or was silent for too long
  }
  end();
  reader.cancel().catch(() => {});
  return text.slice(0, REFUSAL_LENGTH);
}

/** Reads `Retry-After` as milliseconds: seconds, also with a fraction, or a date; undefined for other values. */
function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

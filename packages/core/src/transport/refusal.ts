import { type Clock, openSpan, rejectOnAbort } from "../base/clock.js";
import type { APIError } from "../vocabulary/errors.js";
import { createAPIError } from "./api-error.js";
import { readRequestId } from "./failure.js";
import { createBodyReader } from "./read-body.js";

/**
 * Reads the error of a response with an error status. The status decides, so a truncated, stalled or endless body is
 * fine. Reads only the beginning of a long body.
 *
 * @example
 * ```ts
 * import { createRequest, readRefusal } from "@sluice/core/extend";
 *
 * const response = await client.fetch(await createRequest(client, "/v1/usage", { signal }));
 * if (!response.ok) throw await readRefusal(response, client, signal);
 * ```
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
  const requestId = readRequestId(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    createBodyReader(response)
      .cancel()
      .catch(() => {});
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return createAPIError(response, "", { requestId, reason: "wrong-address", fields: { message } });
  }
  const retryAfterMs = readRetryAfter(response);
  // before the text is cut, because half a key would not be recognized
  const body = scrub(await readStart(response, clock, signal));
  const source = response.headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return createAPIError(response, body, { requestId, retryAfterMs, source });
}

/** Limits of the body: characters to read, and milliseconds to wait. */
const REFUSAL_LENGTH = 65_536;
const REFUSAL_MS = 5000;

async function readStart(response: Response, clock: Clock, caller: AbortSignal): Promise<string> {
  const { signal, end } = openSpan(clock, caller, REFUSAL_MS, () => undefined);
  const reader = createBodyReader(response);
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < REFUSAL_LENGTH) {
      const { done, value } = await rejectOnAbort(reader.read(), signal);
      if (done) break;
      text += decoder.decode(value as Uint8Array, { stream: true });
    }
  } catch {
    // the body was truncated or stalled
  }
  end();
  reader.cancel().catch(() => {});
  return text.slice(0, REFUSAL_LENGTH);
}

/** Parses `Retry-After` to milliseconds: seconds, also with a fraction, or a date; undefined for other values. */
function readRetryAfter({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

/** Creates the error of a body with status 200 that contains no response. */
export function createRefusal(body: string, context: Parameters<typeof createAPIError>[2]): APIError {
  return createAPIError({ status: 200 }, body, context);
}

import { describeResponse, type ResponseDescription } from "./describe-response.js";
import type { BodyReader } from "./read-body.js";

/* What only a failed request needs. A page loads it before its network fails. */

export { repeat } from "./repeat.js";
export { describeResponse };

/** Largest number of characters of the body to read. */
const REFUSAL_LENGTH = 65_536;

/**
 * Describes a response with an error status. The status decides, so a truncated, stalled or endless body is fine. Reads
 * only the beginning of a long body.
 *
 * @param read reads the next piece of the body, until a time limit
 * @param scrub removes the keys from a text
 */
export async function describeRefusal(
  response: Response,
  read: BodyReader["read"],
  scrub: (text: string) => string,
): Promise<ResponseDescription> {
  const { status, type, headers } = response;
  if (type === "opaqueredirect" || (status >= 300 && status < 400))
    return {
      message: `HTTP ${status || "redirect"}: the base URL redirects; set baseURL to the final address`,
      status,
      reason: "wrong-address",
      body: "",
    };
  const retryAfterMs = readRetryAfter(response);
  // before the text is cut, because half a key would not be recognized
  const body = scrub(await readStart(read));
  const source = headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return describeResponse(response, body, { retryAfterMs, source });
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
function readRetryAfter({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

import { invalid, Refusal } from "../refusal.js";
import { parsed, readAtMost, within } from "./ask-json.js";

const BODY_BYTES = 8192;
const BODY_MS = 10_000;
/** A Turnstile token has at most as many characters. */
const MAX_TOKEN = 2048;

/**
 * The Turnstile token in a request's body, `{ "token": "…" }`.
 *
 * @throws {Refusal} 408, 413, 415 or 400
 */
export async function readToken({ headers, body }: Request): Promise<string> {
  // a type that pages may send without a preflight would get around CORS
  if (!/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(headers.get("content-type") ?? ""))
    throw new Refusal(415, "unsupported_media_type", "send the request as content-type: application/json");
  const text = await within(BODY_MS, (signal) => readAtMost(BODY_BYTES, body, signal)).catch(() => {
    throw new Refusal(408, "body_timeout", "the body broke off or took too long to arrive; send it again");
  });
  if (text === undefined)
    throw new Refusal(413, "body_too_large", `the body is larger than ${BODY_BYTES} bytes`);
  const { token } = (parsed(text) ?? {}) as { token?: unknown };
  if (typeof token !== "string" || token === "" || token.length > MAX_TOKEN)
    throw invalid('send { "token": "…" }, the token of the Turnstile widget');
  return token;
}

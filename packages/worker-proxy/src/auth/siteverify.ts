import { misconfigured, Refusal } from "../refusal.js";
import { askJSON, type Fetch, parsed, readAtMost, within } from "./ask-json.js";
import { unknowable } from "./claims.js";

const SITEVERIFY = "https://challenges.cloudflare.com/turnstile/v0/siteverify";

/** What a check has to be, to count here. */
export interface Wanted {
  readonly hostnames: readonly string[];
  readonly action: string;
  readonly maxAgeSeconds: number;
}

/** One token, as the page sent it. */
export interface Sent {
  readonly token: string;
  readonly secretKey: string;
  /** The visitor's address, where the host tells it. */
  readonly remoteIP: string | undefined;
}

/**
 * Asks Turnstile whether a token is good. It takes each token once.
 *
 * @throws {Refusal} 403 for a token that is not, 503 where that can't be told, 500 for a wrong secret key
 */
export async function checkToken(sent: Sent, wanted: Wanted, fetch: Fetch): Promise<void> {
  const said = await verified(sent, fetch);
  if (said["success"] !== true) throw refusalOf(codesIn(said));
  if (said["action"] !== wanted.action) throw refused("this check was made for another action");
  if (!wanted.hostnames.includes(String(said["hostname"])))
    throw refused("this check was made on another page");
  const age = Date.now() - Date.parse(String(said["challenge_ts"]));
  // a time that can't be read compares false
  if (!(Math.abs(age) <= wanted.maxAgeSeconds * 1000)) throw refused("this check is too old; make a new one");
}

/** One more try, with the same key: if only the answer was lost, the token is not spent for nothing. */
async function verified(sent: Sent, fetch: Fetch): Promise<Record<string, unknown>> {
  const form = new URLSearchParams({
    secret: sent.secretKey,
    response: sent.token,
    idempotency_key: crypto.randomUUID(),
    ...(sent.remoteIP && { remoteip: sent.remoteIP }),
  });
  const said = (await asked(form, fetch)) ?? (await asked(form, fetch));
  if (!said) throw unknowable("turnstile: siteverify could not be asked");
  return said;
}

async function asked(body: URLSearchParams, fetch: Fetch): Promise<Record<string, unknown> | undefined> {
  const answer = await askJSON(SITEVERIFY, { method: "POST", body }, fetch).catch(() => undefined);
  if (!answer || answer.status >= 500 || answer.status === 429) return undefined;
  if (typeof answer.json !== "object" || answer.json === null) return undefined;
  const said = answer.json as Record<string, unknown>;
  return codesIn(said).includes("internal-error") ? undefined : said;
}

function codesIn(said: Record<string, unknown>): readonly unknown[] {
  const codes = said["error-codes"];
  return Array.isArray(codes) ? codes : [];
}

function refusalOf(codes: readonly unknown[]): Refusal {
  if (codes.includes("invalid-input-secret") || codes.includes("missing-input-secret"))
    return misconfigured("secretKey: Turnstile does not know it");
  return refused("Turnstile refused this check: it was used before, is too old or is none; make a new one");
}

function refused(message: string): Refusal {
  return new Refusal("turnstile_refused", { what: message });
}

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
    throw new Refusal("type_not_json");
  const text = await within(BODY_MS, (signal) => readAtMost(BODY_BYTES, body, signal)).catch(() => {
    throw new Refusal("turnstile_body_timeout");
  });
  if (text === undefined) throw new Refusal("body_too_large", { what: BODY_BYTES });
  const { token } = (parsed(text) ?? {}) as { token?: unknown };
  if (typeof token !== "string" || token === "" || token.length > MAX_TOKEN)
    throw new Refusal("turnstile_token_missing");
  return token;
}

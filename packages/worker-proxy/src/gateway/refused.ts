import type { CallOutcome } from "../admitted.js";
import type { Limits } from "../options.js";
import { Refusal } from "../refusal.js";
import type { Reason } from "../refusals.js";
import { failed, passedHeadersOf } from "./call.js";
import { openKeyWatch } from "./keys.js";
import { readText, type Upstream } from "./read-answer.js";

/** Limits of an error's body: size in characters, time in milliseconds. */
const ERROR_CHARACTERS = 65_536;
const ERROR_MS = 10_000;

/** Status 0 is how a host that keeps to the letter of the standard shows a redirect. */
const REDIRECTS = [0, 301, 302, 303, 307, 308];

/** The account behind the key: no caller can mend it, and the gateway's words speak of keys and balances. */
const ACCOUNT = [401, 402, 403, 407];

/**
 * Statuses of a wait that ended before the work did, and of a connection that Cloudflare lost after it had been made.
 * The work may be done, and a user could ask for answers that take that long.
 */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

/**
 * Makes a refusal of a gateway's answer that is no success. The caller's own mistakes are told in the gateway's words;
 * the operator's (a wrong key, a wrong address) are not the caller's to see.
 */
export async function refusalOf(
  upstream: Pick<Upstream, "response" | "call">,
  keys: readonly string[],
  { stallMs = ERROR_MS }: Limits,
): Promise<Refusal> {
  const { response } = upstream;
  const { status } = response;
  const outcome = MAY_HAVE_WORKED.includes(status) ? "unknown" : "refused";
  const headers = passedHeadersOf(response, keys);
  const refuse = (reason: Reason, problem?: string) =>
    new Refusal(reason, { what: status, outcome, problem, ...(status >= 500 && { headers }) });
  if (REDIRECTS.includes(status)) return refuse("upstream_redirect");
  if (status < 400) return refuse("upstream_no_answer");
  if (status >= 500) return refuse("upstream_error");
  if (ACCOUNT.includes(status)) return refuse("upstream_auth", `the gateway refused the key with ${status}`);
  const text = await errorText(upstream, Math.min(stallMs, ERROR_MS), outcome);
  const { param, ...said } = errorIn(text, keys);
  return new Refusal("upstream_refused", {
    what: status,
    param,
    headers: { ...headers, "x-sluice-source": "upstream" },
    outcome,
    said: { status, ...said },
  });
}

/**
 * The time within which a connection fails that was never made, in milliseconds. workerd throws the same error
 * for a refused connection and for one that was cut after the request had been sent, so that only the time is left to
 * tell them apart. A gateway that works longer than this before a cut is paid.
 */
const CONNECT_MS = 5000;
/** Errors of other hosts that say that there was no connection. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Refusal of a call whose `fetch` failed after that many milliseconds. */
export function unanswered(error: unknown, ms: number): Refusal {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const isUnsent = ms < CONNECT_MS || NO_CONNECTION.test(String(cause?.code ?? code));
  return failed(isUnsent ? "upstream_unreachable" : "upstream_cut", undefined, error);
}

/** The text of an error, or none where it can't be read: a refusal stays one, whatever becomes of its body. */
async function errorText(
  { response, call }: Pick<Upstream, "response" | "call">,
  ms: number,
  outcome: CallOutcome,
): Promise<string> {
  const until = Date.now() + ms;
  try {
    return await readText({ response, call }, ERROR_CHARACTERS, () => until - Date.now());
  } catch {
    if (call.stopped === "client_left") throw failed(call.stopped, outcome);
    return "";
  }
}

/** Reads an error's body (spec, Errors); a part that quotes the key is left out. */
function errorIn(
  text: string,
  keys: readonly string[],
): Partial<Record<"message" | "type" | "code" | "param", string>> {
  try {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    const isSaid = ([, value]: [string, unknown]) =>
      typeof value === "string" && value !== "" && !openKeyWatch(keys)(value);
    return Object.fromEntries(Object.entries(error).filter(isSaid));
  } catch {
    // no JSON, or none of the spec's: the status alone speaks
    return {};
  }
}

import type { CallOutcome } from "../api/plugin.js";
import { Refusal } from "../refusals/refusal.js";
import type { Reason } from "../refusals/texts.js";
import { createFailure } from "./call.js";
import type { GatewayResponse } from "./exchange.js";
import { containsKey, selectHeaders } from "./key.js";
import { readText } from "./read-json.js";

/** Limits of an error's body: size in characters, time in milliseconds. */
const ERROR_CHARACTERS = 65_536;
const ERROR_MS = 10_000;

/** Statuses of redirects. Some hosts show status 0 instead, as the standard says. */
const REDIRECTS = [0, 301, 302, 303, 307, 308];

/** Problems of the account behind the key. The gateway's message may name keys and balances, and is not passed on. */
const ACCOUNT = [401, 402, 403, 407];

/** Statuses of a timeout or a broken connection. The work may still be done. */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

/** Statuses of a server that does not have the path or the method: the gateway has both, and sends JSON. */
const NO_SUCH_PATH = [404, 405];

/**
 * Creates a refusal from an error response of the gateway. Only mistakes of the caller keep the gateway's message.
 *
 * @param keys values that no message may contain
 * @param chunkMs the longest time for the body, in milliseconds, at most 10,000
 */
export async function readRefusal(
  upstream: GatewayResponse,
  keys: readonly string[],
  chunkMs = ERROR_MS,
): Promise<Refusal> {
  const { response } = upstream;
  const { status } = response;
  const outcome = MAY_HAVE_WORKED.includes(status) ? "unknown" : "refused";
  const headers = selectHeaders(response, keys);
  const refuse = (reason: Reason, problem?: string) =>
    new Refusal(reason, { what: status, outcome, problem, ...(status >= 500 && { headers }) });
  if (REDIRECTS.includes(status)) return refuse("upstream_redirect");
  if (status < 400)
    return new Refusal("upstream_type", { what: `: ${status} is not a response of the gateway`, outcome });
  if (status >= 500) return refuse("upstream_error");
  if (ACCOUNT.includes(status)) return refuse("upstream_auth", `the gateway refused the key with ${status}`);
  const known = await readError(upstream, keys, Math.min(chunkMs, ERROR_MS), outcome);
  // any server in between can respond with a page: only the gateway's JSON proves that a task does not exist (spec, Errors)
  const isForeign = known === undefined && NO_SUCH_PATH.includes(status);
  const message = "another server responded, not the gateway; the proxy's operator checks `baseURL`";
  const { param, ...error }: GatewayError = known ?? (isForeign ? { code: "upstream_type", message } : {});
  return new Refusal("upstream_refused", {
    what: status,
    param,
    ...(isForeign && { advice: "baseURL" }),
    headers: { ...headers, "x-sluice-source": "upstream" },
    outcome,
    error: { type: "proxy_error", ...error, status },
  });
}

/** The fields of an error of the gateway (spec, Errors). */
type GatewayError = Partial<Record<"message" | "type" | "code" | "param", string>>;

/** Reads an error (spec, Errors), without parts that quote a key. Undefined for anything but a JSON object. */
async function readError(
  upstream: GatewayResponse,
  keys: readonly string[],
  idleMs: number,
  outcome: CallOutcome,
): Promise<GatewayError | undefined> {
  const isSaid = ([, value]: [string, unknown]) =>
    typeof value === "string" && value !== "" && !containsKey(value, keys);
  try {
    const json: unknown = JSON.parse(await readText(upstream, ERROR_CHARACTERS, idleMs, Date.now() + idleMs));
    if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
    const { error } = json as { readonly error?: unknown };
    return typeof error === "object" ? Object.fromEntries(Object.entries({ ...error }).filter(isSaid)) : {};
  } catch {
    if (upstream.call.stopped === "client_left") throw createFailure("client_left", outcome);
    return undefined;
  }
}

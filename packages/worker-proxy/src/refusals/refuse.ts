import { type LoggedError, logCause, writeLine } from "./log.js";
import type { Refusal } from "./refusal.js";
import type { Report } from "./report.js";

/** Returns the response to a refused request, and logs the cause of a 5xx, or an option that is missing. */
export async function refuse<Env>(
  refusal: Refusal,
  report: Report,
  failed: LoggedError<Env>,
): Promise<Response> {
  const { known, secrets = [] } = report;
  const { status, code, message } = refusal;
  const { advice, headers, budget, limit, reason, outcome } = refusal.details;
  // `retry-after` on a request that may be done would tell clients to pay for it twice
  const isPassing = PASSING.test(refusal.reason) && outcome !== "unknown";
  known.requestId = headers?.["x-request-id"] ?? known.requestId;
  if (advice) writeLine(failed.log, message, JSON.stringify(advice.slice(0, 100)));
  failed.log.lines?.flush();
  // without the plugin `events`, only the log has the reason why a token was refused
  const cause = status >= 500 ? refusal : reason;
  if (cause) await logCause(`${status} ${code}`, cause, { ...failed, secrets }, known.requestId);
  Object.assign(known, budget && { budget }, limit && { limit }, reason && { reason });
  report.end(status, code);
  const all = {
    "x-sluice-source": "proxy",
    // a random wait spreads the retries of clients that failed together
    ...(isPassing && { "retry-after": String(1 + Math.floor(Math.random() * 3)) }),
    ...headers,
    "x-request-id": known.requestId,
    "content-type": "application/json",
  };
  return new Response(JSON.stringify(refusal), { status: status === 499 ? 408 : status, headers: all });
}

/** Refusals that a short wait may help. */
const PASSING = /^upstream_(?:unreachable|error)$|^(?:authentication|rate_limit|budget|storage)_unavailable$/;

import { advise, type LoggedError, logCause } from "./log.js";
import { describeRefusal, formatError, type Refusal } from "./refusal.js";
import type { Report } from "./report.js";

/** A request that is refused. */
interface Refused<Env> extends LoggedError<Env> {
  readonly report?: Report;
}

/** Returns the response to a refused request, and logs the cause of a 5xx, or an option that is missing. */
export async function refuse<Env>(refusal: Refusal, failed: Refused<Env>): Promise<Response> {
  const { log, report } = failed;
  const { status, code, message } = describeRefusal(refusal);
  const { advice, headers, budget, limit, reason } = refusal.details;
  const requestId = headers?.["x-request-id"] ?? report?.known.requestId;
  if (advice) advise(log.advised, `${JSON.stringify(advice.slice(0, 100))}: ${message}`);
  log.repeats?.report();
  // without `onEvent` nothing else tells an operator why a token is refused
  const cause = status >= 500 ? refusal : reason;
  if (cause) await logCause(`${status} ${code}`, cause, failed, requestId);
  if (report) {
    for (const [name, value] of Object.entries({ requestId, budget, limit, reason }))
      if (value) Object.assign(report.known, { [name]: value });
    report.end(status, code);
  }
  const all = {
    "x-sluice-source": "proxy",
    // clients wait as long as they are told: a random wait spreads clients that failed together
    ...(isPassing(refusal) && { "retry-after": String(1 + Math.floor(Math.random() * 3)) }),
    ...headers,
    ...(requestId && { "x-request-id": requestId }),
    "content-type": "application/json",
  };
  return new Response(formatError(refusal), { status: status === 499 ? 408 : status, headers: all });
}

/**
 * Returns true for a refusal that a short wait may help. `retry-after` on a request that may be done would tell clients to
 * pay for it twice.
 */
function isPassing({ reason, details }: Refusal): boolean {
  const passing =
    /^upstream_(?:unreachable|error)$|^(?:authentication|rate_limit|budget|storage)_unavailable$/;
  return passing.test(reason) && details.outcome !== "unknown";
}

import type { CallOutcome, Usage } from "../api/plugin.js";
import type { Exchange } from "../gateway/exchange.js";
import type { Report } from "../refusals/report.js";

/** Settles a request by the JSON of its response. */
export function settleJSON<Env>({ account }: Exchange<Env>, json: unknown): void {
  account?.close(readOutcome(json), readUsage(json));
}

/** Notes the outcome and the usage of a response for its event. No key is in the response. */
export function noteJSON({ known }: Report, json: unknown): void {
  const { choices } = { ...(json as { choices?: unknown }) };
  const usage = readUsage(json);
  if (usage) known.usage = usage;
  if (hasFailed(json)) Object.assign(known, { outcome: "error", code: "upstream_error" });
  // a chat without a `finish_reason` may lack its end
  else if (Array.isArray(choices) && !choices.every((choice) => choice?.finish_reason))
    known.outcome = "unconfirmed";
}

/** Returns the usage of a response; undefined if it has none. */
export function readUsage(json: unknown): Usage | undefined {
  const { usage } = { ...(json as { usage?: Usage }) };
  return typeof usage === "object" && usage !== null ? usage : undefined;
}

/**
 * Returns the outcome of a JSON response. A response with an `error` and without any result is `refused`.
 */
export function readOutcome(json: unknown): CallOutcome {
  const { error, choices, data, usage } = { ...(json as Record<string, unknown>) };
  return error && !choices && !data && !usage ? "refused" : "responded";
}

/** Returns true for a response with an error under a status of success, also beside choices or in one. */
function hasFailed(json: unknown): boolean {
  const { choices, usage, error, errors, object, message, detail } = { ...(json as Record<string, unknown>) };
  const inside = Array.isArray(choices) ? choices.flatMap((one) => [one?.error, one?.message?.error]) : [];
  const isInstead = !choices && !usage && isFilled([message, detail]);
  return (
    isInstead || object === "error" || readOutcome(json) === "refused" || isFilled([error, errors, inside])
  );
}

/** Returns false for null, `""`, `{}` and `[]`: many services send an `error` that is empty. */
function isFilled(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.values(value).some(isFilled) : Boolean(value);
}

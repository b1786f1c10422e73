import { type ErrorText, type Reason, type RefusalDetails, type Row, refusals } from "./texts.js";

/**
 * Ends a request without a success. The reason is a row of the proxy's table, which has the status and the message.
 * The reason `said` is for an error of a plugin, whose status, code and message are in `details`.
 *
 * @example
 * ```ts
 * const details = { said: { status: 503, code: "paused", message: "paused until noon" } };
 * throw new Refusal("said", details);
 * ```
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly details: RefusalDetails;

  constructor(reason: Reason, details: RefusalDetails = {}) {
    super(reason, { cause: details.cause });
    this.reason = reason;
    this.details = details;
  }
}

/** Creates a refusal from a row of another table. The reason is its code. */
export function refuseAs([status, message, code]: Row, name: string, details: RefusalDetails = {}): Refusal {
  const said = { status, code: code ?? name, message: fillText(message, details) };
  return new Refusal("said", { ...details, said });
}

/**
 * Creates the refusal of a mistake in the setup, 500 `misconfigured`. Only the log names the problem.
 *
 * @example
 * ```ts
 * if (!env.WEBHOOK_URL) throw refuseSetup("WEBHOOK_URL: is missing");
 * ```
 */
export function refuseSetup(problem: string, cause?: unknown): Refusal {
  return new Refusal("misconfigured", { problem, cause });
}

/**
 * Turns an unexpected error into a refusal, 500 `misconfigured`. Returns a refusal unchanged.
 *
 * @example
 * ```ts
 * const readCode = (error: unknown) => describeRefusal(toRefusal(error)).code;
 * ```
 */
export function toRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : refuseSetup("a fault of the proxy", error);
}

/** Returns `retry-after` and the seconds for a refusal that may pass. */
export function describeWait(retryAfterMs: number): Pick<RefusalDetails, "what" | "headers"> {
  const what = Math.max(1, Math.ceil(retryAfterMs / 1000) || 1);
  return { what, headers: { "retry-after": String(what) } };
}

/** Refusal of a request that may be repeated later: too many requests or streams. */
export function refuseTooMany(
  reason: "rate_limited" | "too_many_streams",
  retryAfterMs: number,
  details: Pick<RefusalDetails, "limit"> = {},
): Refusal {
  return new Refusal(reason, { ...details, ...describeWait(retryAfterMs) });
}

/**
 * Runs a function that decides about a request. If it fails, the request is refused, and only the log has the cause.
 *
 * @throws {Refusal} `reason` if the function throws or rejects
 * @example
 * ```ts
 * const isAllowed = await decide("quota", "rate_limit_unavailable", () => isCustomer("ada", env));
 * ```
 */
export async function decide<T>(option: string, reason: Reason, decide: () => T | Promise<T>): Promise<T> {
  try {
    return await decide();
  } catch (cause) {
    throw new Refusal(reason, { problem: `${option} failed`, cause });
  }
}

/** The `error.type` of single statuses. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** The part of a refusal that its text depends on. */
type Refused = { readonly reason: Reason; readonly details: RefusalDetails };

/**
 * Returns the status, the code, the type and the message of a refusal.
 *
 * @example
 * ```ts
 * const { status, code } = describeRefusal(new Refusal("not_found")); // 404, "not_found"
 * ```
 */
export function describeRefusal({ reason, details }: Refused): ErrorText {
  const [usual, message, code = reason]: Row = refusals[reason];
  const status = details.said?.status ?? usual;
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "proxy_error");
  return { code, message: fillText(message, details), type, ...details.said, status };
}

function fillText(
  message: string,
  { what = "", param = "an address", budget = "user", limit = "requests" }: RefusalDetails,
): string {
  const words = { param, what, budget, limit };
  return message.replace(/\{(\w+)\}/g, (_, word: keyof typeof words) => `${words[word]}`);
}

/**
 * Returns the body of a refusal, in the gateway's error shape (spec, Errors).
 *
 * @example
 * ```ts
 * const response = new Response(formatError(new Refusal("not_found")), { status: 404 });
 * ```
 */
export function formatError(refusal: Refused): string {
  const { message, type, code } = describeRefusal(refusal);
  const { param } = refusal.details;
  return JSON.stringify({ error: { message, type, code, ...(param && { param }) } });
}

/** Returns the event that ends a stream that failed; a blank line closes the event that may be open. */
export function formatErrorEvent(refusal: Refused): Uint8Array {
  return new TextEncoder().encode(`\n\nevent: error\ndata: ${formatError(refusal)}\n\n`);
}

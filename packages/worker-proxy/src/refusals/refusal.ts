import { createRefusals, type Reason, type RefusalDetails, type Row } from "./texts.js";

/**
 * Ends a request without a success. The reason is a row of the proxy's table, which has the status and the message.
 * The reason `custom` is for an error of a plugin, whose status, code and message are in `details.error`.
 *
 * @example
 * ```ts
 * const details = { error: { status: 503, code: "paused", message: "paused until noon" } };
 * throw new Refusal("custom", details);
 * ```
 * @example the body and the status of its response
 * ```ts
 * const refusal = new Refusal("not_found");
 * const response = Response.json(refusal, { status: refusal.status }); // 404
 * ```
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly details: RefusalDetails;
  /** The status, the code and the type of the response. */
  readonly status: number;
  readonly code: string;
  readonly type: string;

  constructor(reason: Reason, details: RefusalDetails = {}) {
    const [usual, message, code = reason]: Row = createRefusals()[reason];
    const { error, cause } = details;
    super(error?.message ?? fillText(message, details), { cause });
    this.reason = reason;
    this.details = details;
    this.status = error?.status ?? usual;
    this.code = error?.code ?? code;
    this.type = error?.type ?? findType(this.status);
  }

  /** Turns an unexpected error into a refusal, 500 `misconfigured`. Returns a refusal unchanged. */
  static from(error: unknown): Refusal {
    return error instanceof Refusal ? error : refuseSetup("a fault of the proxy", error);
  }

  /** Returns the body of the response, in the gateway's error shape (spec, Errors). */
  toJSON() {
    const { message, type, code, details } = this;
    const { param } = details;
    return { error: { message, type, code, ...(param && { param }) } };
  }
}

/** Creates a refusal from a row of another table. The reason is its code. */
export function refuseAs([status, message, code]: Row, name: string, details: RefusalDetails = {}): Refusal {
  const error = { status, code: code ?? name, message: fillText(message, details) };
  return new Refusal("custom", { ...details, error });
}

/** Creates the refusal of a mistake in the setup, 500 `misconfigured`. Only the log names the problem. */
export function refuseSetup(problem: string, cause?: unknown): Refusal {
  return new Refusal("misconfigured", { problem, cause });
}

/** Returns `retry-after` and the seconds for a refusal that may pass. */
export function describeWait(retryAfterMs: number): Pick<RefusalDetails, "what" | "headers"> {
  const what = Math.max(1, Math.ceil(retryAfterMs / 1000) || 1);
  return { what, headers: { "retry-after": String(what) } };
}

/**
 * Runs a function that decides about a request. If it fails, the request is refused, and only the log has the cause.
 *
 * @throws {Refusal} `reason` if the function throws or rejects
 */
export async function decide<T>(option: string, reason: Reason, decide: () => T | Promise<T>): Promise<T> {
  try {
    return await decide();
  } catch (cause) {
    throw new Refusal(reason, { problem: `${option} failed`, cause });
  }
}

/** Returns the `error.type` of a status. */
function findType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "proxy_error";
}

function fillText(
  message: string,
  { what = "", param = "an address", budget = "user", limit = "requests" }: RefusalDetails,
): string {
  const words = { param, what, budget, limit };
  return message.replace(/\{(\w+)\}/g, (_, word: keyof typeof words) => `${words[word]}`);
}

/** Returns the event that ends a stream that failed; a blank line closes the event that may be open. */
export function formatErrorEvent(refusal: Refusal): Uint8Array {
  return new TextEncoder().encode(`\n\nevent: error\ndata: ${JSON.stringify(refusal)}\n\n`);
}

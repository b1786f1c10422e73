import type { CallOutcome } from "./admitted.js";

interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string | undefined;
  readonly param?: string | undefined;
  readonly advice?: string | undefined;
  readonly outcome?: CallOutcome | undefined;
  readonly problem?: string | undefined;
  readonly cause?: unknown;
}

/** An answer that is no success, in the gateway's own error shape (spec, Errors). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  /** `error.code`: stable, to be switched on. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `error.type`. @default by status */
  readonly type: string;
  readonly param: string | undefined;
  /** The subject of a line in the operator's log, which has the message too: an option should perhaps change. */
  readonly advice: string | undefined;
  /** The end of the call to the gateway that this refusal reports. @default "unknown": all that was reserved is spent */
  readonly outcome: CallOutcome;
  /** The problem in words for the operator's log alone. @default the message */
  readonly problem: string | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { headers = {}, type, param, advice, outcome = "unknown", problem, cause }: RefusalDetails = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.type = type ?? typeOf(status);
    this.param = param;
    this.advice = advice;
    this.outcome = outcome;
    this.problem = problem;
  }
}

/** The body of a refusal, and of an error inside a stream. */
export function errorBody({ message, type, code, param }: Refusal): string {
  return JSON.stringify({ error: { message, type, code, ...(param && { param }) } });
}

/** The operator's mistake. The caller can do nothing about it, and only the log says what it is. */
export function misconfigured(problem: string, cause?: unknown): Refusal {
  const message = "the proxy is set up wrongly; its log says how";
  return new Refusal(500, "misconfigured", message, { problem, cause });
}

/** Limits in time, and the message for each. */
const TOO_MANY = {
  rate_limited: "too many requests",
  budget_exhausted: "the budget is used up",
  too_many_streams: "too many answers are streaming at once; end one",
};

/** Come back later: too many requests or streams, or no budget left. */
export function tooMany(code: keyof typeof TOO_MANY, retryAfterMs: number): Refusal {
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000) || 1));
  return new Refusal(429, code, `${TOO_MANY[code]}; try again in ${seconds} s`, {
    headers: { "retry-after": seconds },
  });
}

/** A part of the proxy's setup that decides about requests failed: no request gets through. Only the log says why. */
export function unavailable(code: string, message: string, problem: string, cause?: unknown): Refusal {
  return new Refusal(503, code, `${message}; try again`, { problem, cause });
}

/** The caller's mistake in the body. */
export function invalid(message = "send one JSON object in UTF-8", param?: string): Refusal {
  return new Refusal(400, "invalid_request", message, { param: param === undefined ? param : show(param) });
}

/** The part of a name from outside that can be said in an answer. */
export function show(name: string): string {
  return JSON.stringify(name.slice(0, 40)).slice(1, -1);
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "proxy_error";
}

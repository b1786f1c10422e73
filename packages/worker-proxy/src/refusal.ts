import type { CallOutcome } from "./admitted.js";

interface Details {
  readonly headers?: Readonly<Record<string, string>>;
  /** `error.type`. @default by status */
  readonly type?: string | undefined;
  /** `error.param`. @default none */
  readonly param?: string | undefined;
  /** The subject of a line in the operator's log, which has the message too: an option should perhaps change. */
  readonly advice?: string | undefined;
  /** The end of the call to the gateway that this refusal reports. @default "unknown": all that was reserved is spent */
  readonly outcome?: CallOutcome | undefined;
  /** The problem in words for the operator's log alone. @default the message */
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
  readonly problem: string | undefined;
  readonly details: Details;

  constructor(status: number, code: string, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.status = status;
    this.code = code;
    this.headers = details.headers ?? {};
    this.problem = details.problem;
    this.details = details;
  }
}

/** The body of a refusal, and of an error inside a stream. */
export function errorBody({ message, status, code, details }: Refusal): string {
  const { param, type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "proxy_error") } = details;
  return JSON.stringify({ error: { message, type, code, ...(param && { param }) } });
}

/** The `error.type` of statuses that have one of their own. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

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
  const headers = { "retry-after": seconds };
  return new Refusal(429, code, `${TOO_MANY[code]}; try again in ${seconds} s`, { headers });
}

/** A part of the proxy's setup that decides about requests failed: no request gets through. Only the log says why. */
export function unavailable(code: string, message: string, problem: string, cause?: unknown): Refusal {
  return new Refusal(503, code, `${message}; try again`, { problem, cause });
}

/**
 * Runs a part of the proxy's setup that decides about requests.
 *
 * @throws {Refusal} 503 where it fails
 */
export async function decided<T>(
  option: string,
  code: string,
  message: string,
  decide: () => T | Promise<T>,
): Promise<T> {
  try {
    return await decide();
  } catch (error) {
    throw unavailable(code, message, `${option} failed`, error);
  }
}

/** The caller's mistake in the body. */
export function invalid(message = "send one JSON object in UTF-8", param?: string): Refusal {
  return new Refusal(400, "invalid_request", message, { param: param && show(param) });
}

/** The part of a name from outside that can be said in an answer. */
export function show(name: string): string {
  return JSON.stringify(name.slice(0, 40)).slice(1, -1);
}

/** @throws {TypeError} with this message, unless the condition holds */
export function ensure(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message);
}

/**
 * Reads an option that may be a function of `env`, also an async one, and checks its value.
 *
 * @throws {Refusal} 500 `misconfigured`; the log names the option and what is missing in `env`, without any value
 */
export async function readOption<Env, T>(
  name: string,
  given: unknown,
  env: Env,
  check: (value: unknown) => T,
): Promise<T> {
  const read = typeof given === "function" ? (from: Env) => given(from) as unknown : () => given;
  let problem = `${name}: its function threw`;
  let cause: unknown;
  try {
    const value = await read(env);
    try {
      return check(value);
    } catch (error) {
      problem = (error as TypeError).message;
    }
  } catch (error) {
    cause = error;
  }
  throw misconfigured(problem + missingIn(read, env), cause);
}

/**
 * Reads a binding.
 *
 * @throws {Refusal} 500 `misconfigured` where it is missing; the log names the option and the binding
 */
export function readBinding<Env, T>(name: string, read: (env: Env) => T, env: Env): Promise<NonNullable<T>> {
  return readOption(name, read, env, (binding) => {
    ensure(binding, `${name}: its binding is missing`);
    return binding as NonNullable<T>;
  });
}

/** Names what a function looks for in `env` and does not find: "; env.PROXY_SECRET is not set". */
function missingIn<Env>(read: (env: Env) => unknown, env: Env): string {
  const missing = new Set<string>();
  const watched = new Proxy(Object(env) as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined || value === "") missing.add(`env.${String(name)}`);
      return value;
    },
  });
  try {
    // its rejection says no more than the first one did
    Promise.resolve(read(watched as Env)).catch(() => {});
  } catch {}
  return missing.size > 0 ? `; ${[...missing].join(", ")} is not set` : "";
}

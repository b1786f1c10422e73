import type { Details, Reason } from "./refusals.js";

/** The end of a request without a success. `refusals.ts` has its status and its words, and is loaded when they are needed. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly details: Details;

  constructor(reason: Reason, details: Details = {}) {
    super(reason, { cause: details.cause });
    this.reason = reason;
    this.details = details;
  }
}

/** The operator's mistake. The caller can do nothing about it, and only the log says what it is. */
export function misconfigured(problem: string, cause?: unknown): Refusal {
  return new Refusal("misconfigured", { problem, cause });
}

/** Refusal of a fault that nobody foresaw; a refusal stays what it is. */
export function refusalIn(error: unknown): Refusal {
  return error instanceof Refusal ? error : misconfigured("a fault of the proxy", error);
}

/** Come back later: too many requests or streams, or no budget left. */
export function tooMany(
  reason: "rate_limited" | "budget_exhausted" | "too_many_streams",
  retryAfterMs: number,
): Refusal {
  const what = Math.max(1, Math.ceil(retryAfterMs / 1000) || 1);
  return new Refusal(reason, { what, headers: { "retry-after": String(what) } });
}

/**
 * Runs a part of the proxy's setup that decides about requests.
 *
 * @throws {Refusal} `reason` where it fails: no request gets through, and only the log says why
 */
export async function decided<T>(option: string, reason: Reason, decide: () => T | Promise<T>): Promise<T> {
  try {
    return await decide();
  } catch (cause) {
    throw new Refusal(reason, { problem: `${option} failed`, cause });
  }
}

/** @throws {TypeError} with this message, unless the condition holds */
export function ensure(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message);
}

/**
 * Reads an option that is a function of `env`, also an async one, and checks its value.
 *
 * @throws {Refusal} 500 `misconfigured`; the log names the option and what is missing in `env`, without any value
 */
export async function readOption<Env, T>(
  name: string,
  read: (env: Env) => unknown,
  env: Env,
  check: (value: unknown) => T,
): Promise<T> {
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
  const { missingIn } = await import("./own-answers.js");
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

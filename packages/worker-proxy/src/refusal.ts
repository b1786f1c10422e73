import type { Exhausted } from "./admitted.js";
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

/** Refusal because of a mistake of the operator, which only the log names. */
export function misconfigured(problem: string, cause?: unknown): Refusal {
  return new Refusal("misconfigured", { problem, cause });
}

const reasons = new WeakMap<Request, string>();

/** Says for the operator alone why a request has no user. Its texts hold no value of a token. */
export function nobody(request: Request, reason: string): null {
  reasons.set(request, reason);
  return null;
}

/** Returns the reason that {@link nobody} was given. */
export function whyNobody(request: Request): string | undefined {
  return reasons.get(request);
}

/** Turns an unexpected error into a refusal; a refusal stays as it is. */
export function refusalIn(error: unknown): Refusal {
  return error instanceof Refusal ? error : misconfigured("a fault of the proxy", error);
}

/** Refusal of a request that may be repeated later: too many requests or streams, or no budget left. */
export function tooMany(
  reason: "rate_limited" | "budget_exhausted" | "shared_budget_exhausted" | "too_many_streams",
  retryAfterMs: number,
  details: Pick<Details, "budget" | "limit"> = {},
): Refusal {
  const what = Math.max(1, Math.ceil(retryAfterMs / 1000) || 1);
  return new Refusal(reason, { ...details, what, headers: { "retry-after": String(what) } });
}

/** Refusal of a meter that has nothing left. */
export function exhausted({ retryAfterMs, budget, isShared }: Exhausted): Refusal {
  return tooMany(isShared ? "shared_budget_exhausted" : "budget_exhausted", retryAfterMs, { budget });
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
  check: (value: unknown) => T | Promise<T>,
): Promise<T> {
  let problem = `${name}: its function threw`;
  let cause: unknown;
  let value: unknown;
  try {
    value = await read(env);
    try {
      return await check(value);
    } catch (error) {
      problem = (error as TypeError).message;
    }
  } catch (error) {
    cause = error;
  }
  const { variablesIn } = await import("./own-answers.js");
  throw misconfigured(problem + variablesIn(read, env, { value, check }), cause);
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

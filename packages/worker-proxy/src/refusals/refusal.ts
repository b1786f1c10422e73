import type { Exhausted } from "../api/plugin.js";
import type { Details, Reason } from "./texts.js";

/** The end of a request without a success. `texts.ts` has its status and its words. */
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

/** Refusal of a budget that has nothing left. */
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

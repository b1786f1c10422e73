import { createCounts } from "./bounded.js";
import type { Exchange } from "./exchange.js";
import type { FailureMode, Faults } from "./faults.js";
import { hash } from "./hash.js";
import { createBadRequest, createRateLimited, createServerError, type HandlerResponse } from "./http.js";

/**
 * Records the faults of a request, and refuses it if a fault says so or is misspelled. Otherwise returns undefined.
 * Refusals are counted for each path and body.
 */
export type Refuse = (faults: Faults, exchange: Exchange) => HandlerResponse | undefined;

/** Returns how this response fails, or undefined for a complete response. Counts failures for each path and body. */
export type TakeFailure = (faults: Faults, exchange: Exchange) => FailureMode | undefined;

const MAX_BODIES = 1000;

/** Counts the refusals and failures of each body until its next complete response, for the last 1,000 bodies. */
export function createRefusals() {
  const counts = createCounts(MAX_BODIES);
  return { refuse, takeFailure, clear: () => counts.clear() };

  function refuse(
    { refusal, names, unknown, mistake }: Faults,
    exchange: Exchange,
  ): HandlerResponse | undefined {
    exchange.record.faults = [...names];
    exchange.record.unknownFaults = unknown;
    if (mistake !== undefined) return createBadRequest(mistake, undefined, "unknown_fault");
    if (!refusal || !countAmongFirst(refusal.times, "refusal", exchange)) return undefined;
    return refusal.status === 429 ? createRateLimited(1) : createServerError();
  }

  function takeFailure({ failure, refusal }: Faults, exchange: Exchange): FailureMode | undefined {
    if (failure && countAmongFirst(failure.times, "failure", exchange)) return failure.mode;
    // a complete response resets the counts: a later equal request fails again
    if (!failure && !refusal) return undefined;
    for (const kind of ["refusal", "failure"] as const) counts.delete(computeKey(kind, exchange));
    return undefined;
  }

  /** Returns true for the first `times` requests with this body, and counts them. */
  function countAmongFirst(times: number, kind: "refusal" | "failure", exchange: Exchange): boolean {
    const key = computeKey(kind, exchange);
    if (counts.get(key) >= times) return false;
    counts.increase(key);
    return true;
  }
}

function computeKey(kind: "refusal" | "failure", { record, text }: Exchange): string {
  return hash(`${kind} ${record.path} ${text}`);
}

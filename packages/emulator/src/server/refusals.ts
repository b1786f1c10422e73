import type { Exchange } from "./exchange.js";
import type { FailureMode, Faults } from "./faults.js";
import { hash } from "./hash.js";
import { type Answer, badRequest, rateLimited, serverError } from "./http.js";

/**
 * Notes the faults of a request in its record, and answers it if they ask for a refusal or one is misspelt; undefined
 * lets it pass. Refusals are counted for each path and body.
 */
export type Refuse = (faults: Faults, exchange: Exchange) => Answer | undefined;

/** Returns the way in which this answer fails; undefined for a whole one. Failures are counted as refusals are. */
export type FailureOf = (faults: Faults, exchange: Exchange) => FailureMode | undefined;

const MOST = 1000;

/** Counts the refusals and failures of each body until its next whole answer, for the last 1,000 bodies. */
export function createRefusals() {
  const counts = new Map<string, number>();
  return { refuse, failureOf, clear: () => counts.clear() };

  function refuse({ refusal, names, unknown, mistake }: Faults, exchange: Exchange): Answer | undefined {
    exchange.record.faults = [...names];
    exchange.record.unknownFaults = unknown;
    if (mistake !== undefined) return badRequest(mistake, undefined, "unknown_fault");
    if (!refusal || !isDue(refusal.times, "refusal", exchange)) return undefined;
    return refusal.status === 429 ? rateLimited(1) : serverError();
  }

  function failureOf({ failure, refusal }: Faults, exchange: Exchange): FailureMode | undefined {
    if (failure && isDue(failure.times, "failure", exchange)) return failure.mode;
    // a whole answer ends the counts: an equal request that comes later fails again
    if (!failure && !refusal) return undefined;
    for (const kind of ["refusal", "failure"] as const) counts.delete(keyOf(kind, exchange));
    return undefined;
  }

  /** Counts, and says if this is one of the first `times`. */
  function isDue(times: number, kind: "refusal" | "failure", exchange: Exchange): boolean {
    const key = keyOf(kind, exchange);
    const already = counts.get(key) ?? 0;
    if (already >= times) return false;
    counts.delete(key);
    counts.set(key, already + 1);
    for (const oldest of counts.keys()) {
      if (counts.size <= MOST) break;
      counts.delete(oldest);
    }
    return true;
  }
}

function keyOf(kind: "refusal" | "failure", { record, text }: Exchange): string {
  return hash(`${kind} ${record.path} ${text}`);
}

import type { Admitted, CallOutcome, Meter, Payable, Usage } from "../admitted.js";
import { decided, tooMany } from "../refusal.js";
import { logError } from "../report.js";

/* Loaded where the proxy has a `meter`. */

/** The reservation of one request. Only the first close counts. */
export interface Account {
  /** Settles or releases the reservation. `usage` counts for an answer that came to its end. */
  close(outcome: CallOutcome, usage?: Usage): void;
}

/**
 * Reserves the most that a request can cost. Called right before the gateway is asked, by whoever asks it: the proxy,
 * or a Durable Object in its place.
 *
 * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
 */
export async function openAccount<Env>(meter: Meter<Env>, payable: Payable<Env>): Promise<Account> {
  const reserved = await metered(() => meter.reserve(payable));
  if ("retryAfterMs" in reserved) throw tooMany("budget_exhausted", reserved.retryAfterMs);
  let isOpen = true;
  return {
    close(outcome, usage) {
      if (!isOpen) return;
      isOpen = false;
      const isFree = outcome === "not_reached" || outcome === "refused";
      // usage that came before a cut may be of a part of the answer
      const spent = outcome === "answered" ? usage : undefined;
      const closing = Promise.resolve()
        .then(() => (isFree ? reserved.release() : reserved.settle(spent)))
        .catch(() => logError("meter: could not be settled; what was set aside stays so"));
      payable.context?.waitUntil(closing);
    },
  };
}

function metered<T>(ask: () => Promise<T>): Promise<T> {
  return decided("meter", "budget_unavailable", ask);
}

/** Answers `GET /v1/budget`: the budgets of the user who asks. */
export async function budgetsOf<Env>(meter: Meter<Env>, { env, user }: Admitted<Env>): Promise<Response> {
  return Response.json({ budgets: await metered(async () => meter.read?.({ env, user })) });
}

import type { Admitted, CallOutcome, Payable, Usage } from "../admitted.js";
import type { Extension, Meter, Reservation } from "../extension.js";
import { logError } from "../log.js";
import { tooMany, unavailable } from "../refusal.js";

/** The reservation of one request. Only the first close counts. */
export interface Account {
  /** Settles or releases the reservation. `usage` counts for an answer that came to its end. */
  close(outcome: CallOutcome, usage?: Usage): void;
}

/** The account of a request that nobody pays for. */
export const freeAccount: Account = { close() {} };

/**
 * Reserves the most that a request can cost. Called right before the gateway is asked, by whoever asks it: the proxy,
 * or a Durable Object in its place.
 *
 * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
 */
export async function openAccount<Env>(
  meter: Meter<Env> | undefined,
  payable: Payable<Env>,
): Promise<Account> {
  if (!meter) return freeAccount;
  const reserved = await Promise.resolve()
    .then(() => meter.reserve(payable))
    .catch(failed);
  if ("retryAfterMs" in reserved) throw tooMany("budget_exhausted", reserved.retryAfterMs);
  return accountOf(reserved, payable);
}

function failed(error: unknown): never {
  const message = "what you have left can't be told now";
  throw unavailable("budget_unavailable", message, "meter failed", error);
}

/** The path on which users read their own budgets, for a meter that can be read. */
export function budgetRoute<Env>(meter: Meter<Env>): Extension<Env> | undefined {
  if (!meter.read) return undefined;
  const serve = async ({ env, user }: Admitted<Env>) => {
    const budgets = await meter.read?.({ env, user }).catch(failed);
    return Response.json({ budgets });
  };
  return { routes: [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }] };
}

/** The price of each outcome: nothing, what `usage` says, or all that was reserved. */
const endings: Record<CallOutcome, (reservation: Reservation, usage: Usage | undefined) => Promise<void>> = {
  not_reached: (reservation) => reservation.release(),
  refused: (reservation) => reservation.release(),
  answered: (reservation, usage) => reservation.settle(usage),
  // usage that came before a cut may be of a part of the answer
  unknown: (reservation) => reservation.settle(undefined),
};

function accountOf<Env>(reservation: Reservation, { context }: Payable<Env>): Account {
  let isOpen = true;
  return {
    close(outcome, usage) {
      if (!isOpen) return;
      isOpen = false;
      const closing = Promise.resolve()
        .then(() => endings[outcome](reservation, usage))
        .catch(() => logError("meter: could not be settled; what was set aside stays so"));
      context?.waitUntil(closing);
    },
  };
}

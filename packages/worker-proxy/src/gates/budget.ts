import type { CallOutcome, Meter, Payable, Reservation, Usage } from "../admitted.js";
import { logCause } from "../refusals/log.js";
import { decided, exhausted } from "../refusals/refusal.js";

/* Loaded where there is a meter. */

/** The reservation of one request. */
export interface Account extends Pick<Reservation, "ticket"> {
  /** The amount that is set aside; undefined where the meter does not say. */
  readonly reserved: number | undefined;
  /**
   * Settles or releases it; only the first close counts, and later ones return undefined. `usage` counts for an answer
   * that came to its end.
   */
  close(outcome: CallOutcome, usage?: Usage): Paid | undefined;
}

/** The end of a reservation. */
export interface Paid {
  /** The amounts, in the meter's unit; undefined where it does not say. */
  readonly reserved: number | undefined;
  readonly spent: number | undefined;
  /** Resolves with false where it could not be settled, which is logged. */
  readonly settled: Promise<boolean>;
}

/**
 * Reserves the most that a request can cost, right before it is sent.
 *
 * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
 */
export async function openAccount<Env>(
  meter: Meter<Env>,
  payable: Payable<Env>,
  onPaid?: (paid: Pick<Paid, "reserved" | "spent">) => void,
): Promise<Account> {
  const reserved = await decided("meter", "budget_unavailable", () => meter.reserve(payable));
  if ("retryAfterMs" in reserved) throw exhausted(reserved);
  const { amount, ticket } = reserved;
  let isOpen = true;
  return {
    reserved: amount,
    ...(ticket !== undefined && { ticket }),
    close(outcome, usage) {
      if (!isOpen) return undefined;
      isOpen = false;
      const isFree = outcome === "not_reached" || outcome === "refused";
      // usage that came before a cut may be of a part of the answer
      const spent = outcome === "answered" ? usage : undefined;
      const settled = Promise.resolve()
        .then(() => (isFree ? reserved.release() : reserved.settle(spent)))
        .then(() => true)
        .catch(async (error) => {
          const subject = "meter: could not be settled; what was set aside stays so";
          await logCause(subject, error, { env: payable.env, log: {} });
          return false;
        });
      payable.context?.waitUntil(settled);
      const amounts = {
        reserved: amount,
        spent: isFree && amount !== undefined ? 0 : reserved.costOf?.(spent),
      };
      onPaid?.(amounts);
      return { ...amounts, settled };
    },
  };
}

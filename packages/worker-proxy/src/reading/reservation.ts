import type { PluginServer } from "../api/host.js";
import type { Account, Exhausted, Paid, Payable, Reservation } from "../api/plugin.js";
import { decide, describeWait, refuseAs } from "../refusals/refusal.js";
import { budgetRefusals } from "../refusals/texts.js";

interface AccountOptions<Env> extends Pick<PluginServer<Env>, "log"> {
  /** Receives the amounts once the account is closed. */
  readonly onPaid?: (paid: Pick<Paid, "reserved" | "spent">) => void;
}

/**
 * Reserves the most that a request can cost.
 *
 * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
 */
export async function openAccount<Env>(
  reserve: () => Promise<Reservation | Exhausted>,
  payable: Payable<Env>,
  { log, onPaid }: AccountOptions<Env>,
): Promise<Account> {
  const reserved = await decide("plugins: reserve", "budget_unavailable", reserve);
  if ("retryAfterMs" in reserved) {
    const { retryAfterMs, budget, isShared } = reserved;
    const name = isShared ? "shared_budget_exhausted" : "budget_exhausted";
    throw refuseAs(budgetRefusals[name], name, { budget, ...describeWait(retryAfterMs) });
  }
  const { amount, ticket } = reserved;
  let isOpen = true;
  return {
    reserved: amount,
    ...(ticket !== undefined && { ticket }),
    close(outcome, usage) {
      if (!isOpen) return undefined;
      isOpen = false;
      const isFree = outcome === "not_reached" || outcome === "refused";
      // usage that came before a cut may be of a part of the response
      const spent = outcome === "responded" ? usage : undefined;
      const settled = Promise.resolve()
        .then(() => (isFree ? reserved.release() : reserved.settle(spent)))
        .then(() => true)
        .catch(async (error) => {
          const subject = "plugins: a reservation could not be settled; what was set aside stays so";
          await log(subject, error, { env: payable.env });
          return false;
        });
      payable.context?.waitUntil(settled);
      const amounts = {
        reserved: amount,
        spent: isFree && amount !== undefined ? 0 : reserved.calculateCost?.(spent),
      };
      onPaid?.(amounts);
      return { ...amounts, settled };
    },
  };
}

import type { PluginServer } from "../api/host.js";
import type { Meter, Payable } from "../api/plugin.js";
import type { Account, Paid } from "../gateway/exchange.js";
import { decide, describeWait, refuseAs } from "../refusals/refusal.js";
import { budgetRefusals } from "../refusals/texts.js";

/**
 * Reserves the most that a request can cost. Call it right before the request is sent, and close the account after it.
 *
 * @param options `log` of the proxy gets the error of a reservation that cannot be settled
 * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
 * @example
 * ```ts
 * async function pay({ log }: PluginServer<Env>, meter: Meter<Env>, admitted: AdmittedRequest<Env>): Promise<void> {
 *   const account = await openAccount(meter, admitted, { log });
 *   await account.close("responded", { total_tokens: 12 })?.settled;
 * }
 * ```
 */
export async function openAccount<Env>(
  meter: Meter<Env>,
  payable: Payable<Env>,
  {
    log,
    onPaid,
  }: Pick<PluginServer<Env>, "log"> & {
    readonly onPaid?: (paid: Pick<Paid, "reserved" | "spent">) => void;
  },
): Promise<Account> {
  const reserved = await decide("plugins: reserve", "budget_unavailable", () => meter.reserve(payable));
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

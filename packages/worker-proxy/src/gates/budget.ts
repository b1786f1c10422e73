import type { Admitted, Usage } from "../admitted.js";
import type { Reservation } from "../extension.js";
import { logError, tooMany, unavailable } from "../refusal.js";
import type { Settings } from "../settings.js";
import type { Route } from "./path.js";

/** What was set aside for a request. The first word on it holds. */
export interface Account {
  settle(usage?: Usage): void;
  release(): void;
}

/**
 * Sets aside what a request may cost.
 *
 * @throws {Refusal} 429 when nothing is left, 503 when that can't be told
 */
export async function openAccount<Env>(
  { meter }: Settings<Env>,
  { method, isLookup }: Route,
  admitted: Admitted<Env>,
): Promise<Account> {
  if (!meter || method !== "POST" || isLookup) return { settle() {}, release() {} };
  const reserved = await Promise.resolve()
    .then(() => meter.reserve(admitted))
    .catch(() => {
      throw unavailable("budget_unavailable", "what you have left can't be told now");
    });
  if ("retryAfterMs" in reserved) throw tooMany("budget_exhausted", reserved.retryAfterMs);
  return accountOf(reserved, admitted);
}

function accountOf<Env>(reservation: Reservation, { context }: Admitted<Env>): Account {
  let isOpen = true;
  return {
    settle: (usage) => close(() => reservation.settle(usage)),
    release: () => close(() => reservation.release()),
  };

  function close(how: () => Promise<void>): void {
    if (!isOpen) return;
    isOpen = false;
    const closing = Promise.resolve()
      .then(how)
      .catch(() => logError("meter: could not be settled; what was set aside stays so"));
    context?.waitUntil(closing);
  }
}

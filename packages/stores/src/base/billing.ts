import type { Billing, Client } from "@sluice/core";
import { getDelivery, openSpan } from "@sluice/core/extend";

/**
 * Creates a client for one request. `onBilling` gets the billing of the request at each change, because an abort does not
 * report it. `isReading` is true between the status and the body of a rejection.
 */
export function trackBilling(
  client: Client,
  onBilling: (billing: Billing, isReading?: boolean) => void,
): Client {
  // a rejection does not undo an earlier attempt that may have arrived
  let earlier: Billing = "none";
  return {
    ...client,
    emit(event) {
      if (event.type === "request") onBilling("maybe");
      if (event.type === "response" && event.status >= 300 && isRefused(event.status))
        onBilling(earlier, true);
      if (event.type === "retry") {
        if (getDelivery(event.error) === "unknown") earlier = "maybe";
        onBilling(earlier);
      }
      return client.emit(event);
    },
  };
}

/**
 * Creates a client and a signal for one request. `unsentSignal` aborts the request only before the gateway may have it,
 * `caller` at any time.
 *
 * @example
 * ```ts
 * const stopped = new AbortController();
 * const call = cancelWith(client, stopped.signal);
 * try {
 *   const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;
 *   await completeChat(call.client, chat, { signal: call.signal });
 * } finally {
 *   call.end();
 * }
 * ```
 */
export function cancelWith(client: Client, unsentSignal: AbortSignal, caller?: AbortSignal) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let billing: Billing = "none";
  let isCancelled = false;
  unsentSignal.addEventListener("abort", cancelIfUnsent);
  const tracked = trackBilling(client, (soFar, isReading) => {
    billing = soFar;
    if (!isReading) cancelIfUnsent();
  });
  return { client: tracked, signal, end, isCancelled: () => isCancelled, billing: () => billing };

  function cancelIfUnsent(): void {
    if (!unsentSignal.aborted || billing === "maybe") return;
    isCancelled = true;
    abort(unsentSignal.reason);
  }
}

/** Returns true for a status that means that the gateway rejected the request and did not act. */
function isRefused(status: number): boolean {
  return status < 500 && status !== 408;
}

import { openSpan } from "../base/clock.js";
import { type Billing, toBilling } from "../vocabulary/errors.js";
import { findDelivery, isRefused } from "./failure.js";
import type { Connection } from "./send.js";

/**
 * Creates a client for one request. `onBilling` gets the billing of the request so far, which an abort does not report.
 * `isReading` is true between the status and the body of a rejection.
 */
export function trackBilling<Client extends Connection>(
  client: Client,
  onBilling: (billing: Billing, isReading?: boolean) => void,
): Client {
  // a rejection does not undo an earlier attempt that may have arrived
  let soFar: Billing = "none";
  return {
    ...client,
    emit(event) {
      if (event.type === "request") onBilling("maybe");
      if (event.type === "response" && event.status >= 300 && isRefused(event)) onBilling(soFar, true);
      if (event.type === "retry") {
        if (soFar === "none") soFar = toBilling(findDelivery(event.error));
        onBilling(soFar);
      }
      client.emit(event);
    },
  };
}

/**
 * Creates a client and a signal for one request. `unlessSent` aborts the request only before the gateway may have it,
 * `caller` at any time.
 */
export function cancelWith<Client extends Connection>(
  client: Client,
  unlessSent: AbortSignal,
  caller?: AbortSignal,
) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let billing: Billing = "none";
  let isCancelled = false;
  unlessSent.addEventListener("abort", cancelUnlessSent);
  const tracked = trackBilling(client, (soFar, isReading) => {
    billing = soFar;
    if (!isReading) cancelUnlessSent();
  });
  return { client: tracked, signal, end, isCancelled: () => isCancelled, billing: () => billing };

  function cancelUnlessSent(): void {
    if (!unlessSent.aborted || billing === "maybe") return;
    isCancelled = true;
    abort(unlessSent.reason);
  }
}

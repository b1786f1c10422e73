import { openSpan } from "../base/clock.js";
import type { Outcome } from "../vocabulary/errors.js";
import { isRefused, outcomeOf, outcomeOfBoth } from "./failure.js";
import type { Connection } from "./send.js";

/**
 * Makes a client for one request. `onOutcome` gets the outcome of the request so far, which an abort does not carry.
 * `isReading` is true where a refusal has come, and its words have not.
 */
export function trackOutcome<Client extends Connection>(
  client: Client,
  onOutcome: (outcome: Outcome, isReading?: boolean) => void,
): Client {
  // an attempt that may have arrived is not undone by a refusal of the next, nor a refusal by a failed connection
  let soFar: Outcome = "not-sent";
  return {
    ...client,
    emit(event) {
      if (event.type === "request") onOutcome("unknown");
      if (event.type === "response" && event.status >= 300 && isRefused(event))
        onOutcome(outcomeOfBoth(soFar, "refused"), true);
      if (event.type === "retry") {
        soFar = outcomeOfBoth(soFar, outcomeOf(event.error));
        onOutcome(soFar);
      }
      client.emit(event);
    },
  };
}

/**
 * Makes a client and a signal for one request. `unlessSent` ends the request until the gateway may have it, `caller` at
 * any time.
 */
export function endsUnlessSent<Client extends Connection>(
  client: Client,
  unlessSent: AbortSignal,
  caller?: AbortSignal,
) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let outcome: Outcome = "not-sent";
  let isCancelled = false;
  unlessSent.addEventListener("abort", cancelUnlessSent);
  const tracked = trackOutcome(client, (soFar, isReading) => {
    outcome = soFar;
    if (!isReading) cancelUnlessSent();
  });
  return { client: tracked, signal, end, isCancelled: () => isCancelled, outcome: () => outcome };

  function cancelUnlessSent(): void {
    if (!unlessSent.aborted || outcome === "unknown") return;
    isCancelled = true;
    abort(unlessSent.reason);
  }
}

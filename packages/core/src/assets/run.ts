import { openSpan } from "../clock.js";
import type { Outcome } from "../errors.js";
import type { Client } from "../http.js";
import { overhear } from "../overhear.js";

/** A client and a signal for one request, which `over` ends only as long as the gateway can't have it. */
export function endsUnlessSent(client: Client, over: AbortSignal, caller: AbortSignal | undefined) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let outcome: Outcome = "not-sent";
  let isGivenUp = false;
  over.addEventListener("abort", giveUp);
  giveUp();
  const overheard = overhear(client, (soFar) => {
    outcome = soFar;
    giveUp();
  });
  return { client: overheard, signal, end, isGivenUp: () => isGivenUp };

  function giveUp(): void {
    if (!over.aborted || outcome === "unknown") return;
    isGivenUp = true;
    abort(over.reason);
  }
}

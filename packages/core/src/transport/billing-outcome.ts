import { openSpan } from "../base/clock.js";
import type { Outcome } from "../errors.js";
import type { Connection } from "./send.js";

/** Gives a client for one request; `learn` gets the request's outcome so far, which an abort does not carry. */
export function overhear<Client extends Connection>(
  client: Client,
  learn: (outcome: Outcome) => void,
): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "request") learn("unknown");
      // what is sent again was refused
      if (event.type === "retry") learn("refused");
      client.emit(event);
    },
  };
}

/** One request that ends with `over` for as long as the gateway can't have it; with `caller` at any time. */
export function endsUnlessSent<Client extends Connection>(
  client: Client,
  over: AbortSignal,
  caller: AbortSignal | undefined,
) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let outcome: Outcome = "not-sent";
  let isGivenUp = false;
  over.addEventListener("abort", giveUp);
  giveUp();
  const overheard = overhear(client, (soFar) => {
    outcome = soFar;
    giveUp();
  });
  return { client: overheard, signal, end, isGivenUp: () => isGivenUp, outcome: () => outcome };

  function giveUp(): void {
    if (!over.aborted || outcome === "unknown") return;
    isGivenUp = true;
    abort(over.reason);
  }
}

import { openSpan } from "../base/clock.js";
import { assertAccepted, unchecked } from "../base/validate.js";
import type { Client } from "../client.js";
import { asError, isGatewayError, type Outcome } from "../errors.js";
import { overhear } from "../transport/billing-outcome.js";
import type { RequestOptions } from "../transport/send.js";
import { generateImages } from "./generate.js";
import { checkImageRequest } from "./schema.js";
import type { ImageRequestOf, SettledImages } from "./state.js";

/** A request under way. */
export interface Run<Model extends string> {
  /** Never rejects. */
  readonly settled: Promise<SettledImages<Model>>;
  /** Ends it at once and without `onEnd`, whatever may still come; `why` goes into the error. */
  readonly giveUp: (why: string) => SettledImages<Model>;
}

/** Sends a request that {@link refusalOf} has nothing against; `onEnd` is called in the moment that it ends by itself. */
export function createRun<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
  { signal: caller, ...options }: RequestOptions,
  onEnd: (settled: SettledImages<Model>) => void,
): Run<Model> {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let outcome: Outcome = "not-sent";
  let isGivenUp = false;
  let resolve!: (settled: SettledImages<Model>) => void;
  const settled = new Promise<SettledImages<Model>>((resolveSettled) => {
    resolve = resolveSettled;
  });
  // whoever gives up wants to know the outcome at once
  const overheard = overhear(client, (soFar) => {
    outcome = soFar;
  });
  generateImages(overheard, unchecked(variables), { ...options, signal }).then(
    (data) => ended({ status: "success", data, variables }),
    (cause) => ended(failureOf(cause, outcome, variables)),
  );

  return {
    settled,
    giveUp(why) {
      const givenUp = failureOf(abortError(why, outcome), outcome, variables);
      isGivenUp = true;
      resolve(givenUp);
      abort(givenUp.error);
      return givenUp;
    },
  };

  function ended(itself: SettledImages<Model>): void {
    end();
    if (isGivenUp) return;
    resolve(itself);
    onEnd(itself);
  }
}

/** The end of a request that breaks a rule and is not sent; undefined for one that breaks none. */
export function refusalOf<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
): SettledImages<Model> | undefined {
  try {
    assertAccepted(variables, checkImageRequest, client.warn, "generate(unchecked({ … }))");
    return undefined;
  } catch (error) {
    return failureOf(error, "not-sent", variables);
  }
}

/** The end of a request that failed; what the error knows of its outcome goes before `outcome`. */
export function failureOf<Model extends string>(
  cause: unknown,
  outcome: Outcome,
  variables: ImageRequestOf<Model>,
): SettledImages<Model> {
  const error = asError(cause);
  const known = isGatewayError(error) ? error.outcome : undefined;
  return { status: "error", error, outcome: known ?? outcome, variables };
}

function abortError(why: string, outcome: Outcome): DOMException {
  const bill =
    outcome === "unknown" ? "the gateway may have it, and may bill it" : "the gateway did not take it up";
  return new DOMException(`The request was ${why}: ${bill}`, "AbortError");
}

import { openSpan } from "../base/clock.js";
import { assertAccepted, type UncheckedRequest, unchecked } from "../base/validate.js";
import type { Client } from "../client.js";
import { asError, isGatewayError, type Outcome } from "../errors.js";
import type { ImageModel } from "../models.js";
import { overhear } from "../transport/billing-outcome.js";
import type { RequestOptions } from "../transport/send.js";
import { generateImages, type ImageResult } from "./generate.js";
import type { ImageRequest } from "./request-body.js";
import { checkImageRequest } from "./schema.js";

/** Request of a model. For an unknown model, a request that `unchecked` has marked. */
export type ImageRequestOf<Model extends string> = Model extends ImageModel
  ? Extract<ImageRequest, { readonly model: Model }>
  : UncheckedRequest & { readonly model: Model };

/** Result of a request for images. */
export type SettledImages<Model extends string = ImageModel> =
  | {
      /** An answer came. Single images may still have failed: see the `error` of each. */
      readonly status: "success";
      /** The images. */
      readonly data: ImageResult;
      /** Absent: an answer came. */
      readonly error?: undefined;
      /** Absent: an answer came. */
      readonly outcome?: undefined;
      /** The request, with `model` and `params`. */
      readonly variables: ImageRequestOf<Model>;
    }
  | {
      /** No answer came, or the request was stopped. */
      readonly status: "error";
      /** Absent: no answer came. */
      readonly data?: undefined;
      /** Error of the library, or an `AbortError` for a request that was stopped. */
      readonly error: Error;
      /** Outcome of the request. `"unknown"`: it may be billed. */
      readonly outcome: Outcome;
      /** The request, with `model` and `params`. */
      readonly variables: ImageRequestOf<Model>;
    };

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

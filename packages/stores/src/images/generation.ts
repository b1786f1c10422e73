import { type Billing, type Client, generateImages, isGatewayError, type RequestOptions } from "@sluice/core";
import type { AnyRequest } from "@sluice/core/internal";
import {
  assertAccepted,
  checkImageRequest,
  getUploader,
  openSpan,
  toError,
  trackBilling,
} from "@sluice/core/internal";
import { hasFiles } from "../files/request-files.js";
import type { ImageRequestOf, SettledImages } from "./state.js";

/** A request in flight. */
export interface Run<Model extends string> {
  /** The result. Never rejects. */
  readonly settled: Promise<SettledImages<Model>>;
  /** Ends the request at once, without `onEnd`. `why` becomes part of the error. */
  readonly stop: (why: string) => SettledImages<Model>;
  /** Returns the request as it was sent, with the addresses of its files; undefined before. */
  readonly sent: () => ImageRequestOf<Model> | undefined;
  /** Returns the cost of the request so far. */
  readonly billing: () => Billing;
}

/**
 * Sends a request that {@link refusalOf} has accepted, its files first. `onEnd` is called when it ends by result,
 * `onUpload` with the share of the files that is stored.
 *
 * @param ready the request as an earlier run has sent it
 */
export function createRun<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
  options: RequestOptions,
  onEnd: (settled: SettledImages<Model>) => void,
  onUpload: (share: number | undefined) => void,
  ready?: ImageRequestOf<Model>,
): Run<Model> {
  const { signal, abort, end } = openSpan(client.clock, undefined, Number.POSITIVE_INFINITY, () => undefined);
  let billing: Billing = "none";
  let isStopped = false;
  let sent: ImageRequestOf<Model> | undefined;
  let resolve!: (settled: SettledImages<Model>) => void;
  const settled = new Promise<SettledImages<Model>>((resolveSettled) => {
    resolve = resolveSettled;
  });
  // the cost so far is needed as soon as the request is stopped
  const tracked = trackBilling(client, (soFar) => {
    billing = soFar;
  });
  const generate = (request: ImageRequestOf<Model>) => {
    sent = request;
    return generateImages(tracked, request as AnyRequest, { ...options, signal, checks: false });
  };
  const generated = !ready && hasFiles(variables) ? uploaded().then(generate) : generate(ready ?? variables);
  generated.then(
    (data) => ended({ status: "success", data, variables }),
    (cause) => ended(failureOf(cause, billing, variables)),
  );

  return {
    settled,
    sent: () => sent,
    billing: () => billing,
    stop(why) {
      const bill =
        billing === "maybe" ? "the gateway may have it, and may bill it" : "the gateway did not take it up";
      const reason = new DOMException(`The request was ${why}: ${bill}`, "AbortError");
      const stopped = failureOf(reason, billing, variables);
      isStopped = true;
      resolve(stopped);
      abort(reason);
      return stopped;
    },
  };

  async function uploaded(): Promise<ImageRequestOf<Model>> {
    const { uploadFiles, withPlaces } = await import("../files/in-request.js");
    assertAccepted(withPlaces(variables), checkImageRequest, client.warn, options);
    const ready = await uploadFiles(client, variables, signal, (share) => {
      if (!isStopped) onUpload(share);
    });
    if (!isStopped) onUpload(undefined);
    return ready;
  }

  function ended(result: SettledImages<Model>): void {
    end();
    if (isStopped) return;
    resolve(result);
    onEnd(result);
  }
}

/**
 * Makes the result of a request that breaks a rule and is not sent; undefined for a valid one, and for one with files,
 * which is checked before they are uploaded.
 */
export function refusalOf<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
  options: RequestOptions,
): SettledImages<Model> | undefined {
  try {
    if (hasFiles(variables)) {
      getUploader(client);
      return undefined;
    }
    assertAccepted(variables, checkImageRequest, client.warn, options);
    return undefined;
  } catch (error) {
    return failureOf(error, "none", variables);
  }
}

/**
 * Makes the result of a request that failed. An error of this library has its own `billing`. Any other one may be shared,
 * as the reason of a signal is, and becomes the `cause` of an error with its name and text.
 */
export function failureOf<Model extends string>(
  cause: unknown,
  billing: Billing,
  variables: ImageRequestOf<Model>,
): SettledImages<Model> {
  const known = toError(cause);
  if (isGatewayError(known)) return { status: "error", error: known, variables };
  const { name, message } = known;
  const error = Object.assign(new Error(message, { cause: known }), { name, billing });
  return { status: "error", error, variables };
}

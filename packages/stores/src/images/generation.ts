import { type Billing, type Client, generateImages, isGatewayError, type RequestOptions } from "@sluice/core";
import { assertImageRequest, toError } from "@sluice/core/extend";
import { trackBilling } from "../base/billing.js";
import { getUploader, hasFiles } from "../files/request-files.js";
import type { AnyRequest, ImageRequestOf, SettledImages } from "./state.js";

/** A request in flight. */
export type Run<Model extends string> = ReturnType<typeof createRun<Model>>;

/**
 * Uploads the files of a request that {@link findRefusal} has accepted, and sends it.
 *
 * @param onEnd called with the result, unless the request was stopped
 * @param onUpload called with the share of the files that is uploaded, from 0 to 1; undefined at the end
 * @param uploaded the request as an earlier run sent it, with the URLs of its files
 */
export function createRun<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
  options: RequestOptions,
  onEnd: (settled: SettledImages<Model>) => void,
  onUpload: (share: number | undefined) => void,
  uploaded?: ImageRequestOf<Model>,
) {
  const controller = new AbortController();
  const { signal } = controller;
  let billing: Billing = "none";
  let sent: ImageRequestOf<Model> | undefined;
  let settle!: (settled: SettledImages<Model>) => void;
  /** Never rejects. */
  const settled = new Promise<SettledImages<Model>>((resolve) => {
    settle = resolve;
  });
  // `stop` needs the billing at once
  const tracked = trackBilling(client, (soFar) => {
    billing = soFar;
  });
  void generate()
    .catch((cause) => createFailure(cause, billing, variables))
    .then((result) => {
      if (signal.aborted) return;
      onEnd(result);
      settle(result);
    });

  return {
    settled,
    /** Returns the sent request, with the URLs of its files; undefined before it is sent. */
    getSent: () => sent,
    /** Returns whether the request may be billed so far. */
    getBilling: () => billing,
    /** Aborts the request without calling `onEnd`. The error contains `reason`. */
    stop(reason: string): SettledImages<Model> {
      const bill =
        billing === "maybe" ? "the gateway may have it, and may bill it" : "the gateway did not take it up";
      const abortError = new DOMException(`The request was ${reason}: ${bill}`, "AbortError");
      const failure = createFailure(abortError, billing, variables);
      settle(failure);
      controller.abort(abortError);
      return failure;
    },
  };

  async function generate(): Promise<SettledImages<Model>> {
    // without files the request is sent in the same task
    sent = uploaded ?? (hasFiles(variables) ? await upload() : variables);
    const data = await generateImages(tracked, sent as AnyRequest, { ...options, signal, checks: false });
    return { status: "success", data, variables };
  }

  async function upload(): Promise<ImageRequestOf<Model>> {
    const { uploadFiles, replaceFiles } = await import("../files/in-request.js");
    assertImageRequest(client, replaceFiles(variables), options);
    const uploaded = await uploadFiles(client, variables, signal, (share) => {
      if (!signal.aborted) onUpload(share);
    });
    signal.throwIfAborted();
    onUpload(undefined);
    return uploaded;
  }
}

/**
 * Creates the result of a request that breaks a rule and is not sent. Returns undefined for a valid request, and for a
 * request with files, which is checked before the upload.
 */
export function findRefusal<Model extends string>(
  client: Client,
  variables: ImageRequestOf<Model>,
  options: RequestOptions,
): SettledImages<Model> | undefined {
  try {
    if (hasFiles(variables)) getUploader(client);
    else assertImageRequest(client, variables, options);
    return undefined;
  } catch (error) {
    return createFailure(error, "none", variables);
  }
}

/**
 * Creates the result of a failed request. An error of this library has its own `billing`. Any other error may be shared,
 * e.g. as the reason of a signal, so that it becomes the `cause` of a new error with its name and text.
 */
export function createFailure<Model extends string>(
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

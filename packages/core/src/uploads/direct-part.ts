import { openSpan } from "../base/clock.js";
import { bytesOf } from "../media/bytes.js";
import { APIError, type Issue, isGatewayError, TimeoutError } from "../vocabulary/errors.js";
import { answerTo, sendPart, type UploadContext, type UploadRequest } from "./part-request.js";
import type { UploadAtProxy } from "./upload-at-proxy.js";

/** Time for one part, in milliseconds: then the proxy has as much left for it. */
const PART_MS = 300_000;

/** Reasons why a bucket has not taken a part, as the proxy is told. */
const REASONS = {
  unsigned: "the proxy gave no address for it",
  unreachable: "it can't be reached, or allows no page of this origin",
  missing: "what answered in its place has stored nothing",
} as const;

/** Reason why a bucket has not taken a part. `refused` has the status of its answer. */
export type BucketRefusal = keyof typeof REASONS | `refused ${number}`;

/** Makes the warning about a bucket that has not taken a part. */
export function refusalIssue(refusal: BucketRefusal): Issue {
  const reason = refusal in REASONS ? REASONS[refusal as keyof typeof REASONS] : `it answered ${refusal}`;
  return {
    path: "",
    rule: "uploads.direct",
    message: `the bucket did not take a part of the file (${reason}), so that the rest goes through the proxy: its operator gives the bucket a CORS rule that allows PUT from this page, and the page a policy that allows the bucket`,
  };
}

/**
 * Puts a part straight into the bucket, by an address that the proxy signs for this part, and has the proxy look at it.
 *
 * @returns the reason where the bucket does not take it
 * @throws as `sendPart` for what fails at the proxy, or in the file
 */
export async function putDirect(
  context: UploadContext,
  part: UploadRequest,
  attempt: number,
): Promise<UploadAtProxy | BucketRefusal> {
  try {
    const { partURL } = await sendPart(context, { ...part, phase: "sign" }, attempt);
    if (partURL === undefined) return "unsigned";
    const refusal = await put(context, part, partURL, attempt);
    return refusal ?? (await sendPart(context, { ...part, phase: "stored" }, attempt));
  } catch (error) {
    const reason = error instanceof APIError ? THROUGH_PROXY[error.apiCode ?? ""] : undefined;
    if (reason) return reason;
    throw error;
  }
}

/**
 * Codes that ask for the part itself: another instance of the proxy signs nothing, or something else has answered in the
 * place of the bucket.
 */
const THROUGH_PROXY: Readonly<Record<string, BucketRefusal>> = {
  no_direct_parts: "unsigned",
  part_missing: "missing",
};

/** Puts the bytes of a part to an address. The bucket gets no header, no cookie and no referrer. */
async function put(
  context: UploadContext,
  { from, to }: UploadRequest,
  url: string,
  attempt: number,
): Promise<BucketRefusal | undefined> {
  const { client, exchange, file } = context;
  const late = () => new TimeoutError(`no answer after ${PART_MS} ms`, "headers");
  const span = openSpan(client.clock, exchange.signal, PART_MS, late);
  const { signal } = span;
  // a Worker has no cookies, and refuses the fields
  const isPage = "credentials" in Request.prototype;
  try {
    const body = await bytesOf(file, from, to, signal);
    const request = new Request(url, {
      method: "PUT",
      body,
      signal,
      redirect: "manual",
      ...(isPage && { credentials: "omit", referrerPolicy: "no-referrer" }),
    });
    const response = await answerTo(context, request, signal, attempt);
    await response.body?.cancel();
    // a page sees no status of a redirect
    return response.ok ? undefined : `refused ${response.status || 300}`;
  } catch (error) {
    if (exchange.signal.aborted) throw exchange.signal.reason;
    // of a file that can't be read nothing comes through the proxy, either
    if (isGatewayError(error) && error.name === "ValidationError") throw error;
    return "unreachable";
  } finally {
    span.end();
  }
}

import { openSpan } from "../base/clock.js";
import { bytesOf } from "../media/bytes.js";
import { APIError, isGatewayError, TimeoutError } from "../vocabulary/errors.js";
import { answerTo, sendPart, type UploadContext, type UploadRequest } from "./part-request.js";
import type { UploadAtProxy } from "./upload-at-proxy.js";

/** Time for one part, in milliseconds: then the proxy has as much left for it. */
const PART_MS = 300_000;

/**
 * Puts a part straight into the bucket, by an address that the proxy signs for this part, and has the proxy look at it.
 *
 * @returns undefined where it has to go through the proxy: the bucket allows no page of this origin, can't be reached or
 *   refuses, or the proxy asks for it
 * @throws as `sendPart` for what fails at the proxy, or in the file
 */
export async function putDirect(
  context: UploadContext,
  part: UploadRequest,
  attempt: number,
): Promise<UploadAtProxy | undefined> {
  try {
    const { partURL } = await sendPart(context, { ...part, phase: "sign" }, attempt);
    if (partURL === undefined || !(await isPut(context, part, partURL, attempt))) return undefined;
    return await sendPart(context, { ...part, phase: "stored" }, attempt);
  } catch (error) {
    if (error instanceof APIError && THROUGH_PROXY.includes(error.apiCode ?? "")) return undefined;
    throw error;
  }
}

/**
 * Codes that ask for the part itself: another instance of the proxy signs nothing, or something else has answered in the
 * place of the bucket.
 */
const THROUGH_PROXY = ["no_direct_parts", "part_missing"];

/** Puts the bytes of a part to an address. The bucket gets no header, no cookie and no referrer. */
async function isPut(
  context: UploadContext,
  { from, to }: UploadRequest,
  url: string,
  attempt: number,
): Promise<boolean> {
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
    return response.ok;
  } catch (error) {
    if (exchange.signal.aborted) throw exchange.signal.reason;
    // of a file that can't be read nothing comes through the proxy, either
    if (isGatewayError(error) && error.name === "ValidationError") throw error;
    return false;
  } finally {
    span.end();
  }
}

import { APIError, ConnectionError, ResponseError, TimeoutError } from "@sluice/core";
import { createBackoff } from "@sluice/core/extend";
import { PART_BYTES, sendPart, type UploadContext, type UploadRequest } from "./part-request.js";
import { isClosedRoute, type UploadAtProxy } from "./upload-at-proxy.js";

/** Attempts in a row without progress, after the first. */
const MAX_FAILURES = 5;
const FIRST_WAIT_MS = 1000;
/** Limit of the bytes that a call sends: this multiple of the file size, plus one part. */
const MAX_COPIES = 3;

/** Callbacks of {@link sendFile}. */
export interface SendFileHandlers {
  /** Runs before each request with the number of stored bytes. */
  readonly onProgress: (loadedBytes: number) => void;
  /** Runs for each new state; undefined if the proxy no longer has the upload. */
  readonly onState: (state: UploadAtProxy | undefined) => void;
}

/** State of one `sendFile` call. */
interface Sending {
  readonly backoff: ReturnType<typeof createBackoff>;
  /** The next request. */
  phase: UploadRequest["phase"];
  /** State at the proxy. Undefined until the first response. */
  state: UploadAtProxy | undefined;
  /** Maximum number of stored bytes so far, including an upload that the proxy has lost. */
  maxOffset: number;
  /** Bytes of all parts sent so far. */
  sentBytes: number;
  /** Number of requests. */
  attempt: number;
  /** True after a 404. A second 404 in a row is final. */
  isNotFound: boolean;
  /** True after an unclear failure. A second one in a row is final. */
  isUnclear: boolean;
  /** The last failure. */
  failure: unknown;
}

/**
 * Sends the bytes that the proxy does not have until the file is complete. Only bytes that were never stored before are
 * progress: a proxy that responds but stores nothing fails after 5 attempts.
 *
 * @param known the state of an interrupted upload, which is looked up first
 * @throws the final error; `onState` has received the last state
 */
export async function sendFile(
  context: UploadContext,
  known: UploadAtProxy | undefined,
  handlers: SendFileHandlers,
): Promise<UploadAtProxy> {
  const sending = createSending(context, known);
  for (;;) {
    handlers.onProgress(sending.state?.offset ?? 0);
    const part = takeNextPart(context, sending);
    try {
      const next = await sendPart(context, part);
      applyResponse(sending, part, next, handlers);
      if (next.url !== undefined) return next;
    } catch (error) {
      await recover(context, sending, error, handlers);
    }
  }
}

function createSending({ client, call }: UploadContext, known: UploadAtProxy | undefined): Sending {
  const { limit, maxRetryAfterMs } = call.retry;
  const waits = { clock: call.createRetryClock(), random: client.random };
  return {
    backoff: createBackoff(waits, {
      limit: limit === 0 ? 0 : MAX_FAILURES,
      firstMs: FIRST_WAIT_MS,
      longestMs: maxRetryAfterMs,
    }),
    phase: known ? "look-up" : "begin",
    state: known,
    maxOffset: known?.offset ?? 0,
    sentBytes: 0,
    attempt: 0,
    isNotFound: false,
    isUnclear: false,
    failure: undefined,
  };
}

/**
 * Returns the next request, and counts its bytes.
 *
 * @throws {ConnectionError} if one file would cost too many bytes
 */
function takeNextPart({ file: { size } }: UploadContext, sending: Sending): UploadRequest {
  const { phase, state, sentBytes, failure } = sending;
  const from = state?.offset ?? 0;
  const to = phase === "look-up" ? from : Math.min(size, from + PART_BYTES);
  if (sentBytes + to - from > MAX_COPIES * size + PART_BYTES) {
    const text = `the upload was canceled: ${sentBytes} bytes were sent for a file of ${size}, and it is not whole. What is stored stays; try again later`;
    throw new ConnectionError(text, "none", { cause: failure });
  }
  sending.sentBytes += to - from;
  sending.attempt += 1;
  return { phase, id: state?.id, from, to };
}

/**
 * Applies the proxy's response.
 *
 * @throws {ResponseError} if the proxy accepted bytes but stored nothing
 */
function applyResponse(
  sending: Sending,
  { phase, from }: UploadRequest,
  next: UploadAtProxy,
  { onState }: SendFileHandlers,
): void {
  sending.isNotFound = false;
  sending.state = next;
  sending.phase = "part";
  onState(next);
  if (next.url !== undefined) return;
  if (phase !== "look-up") {
    const text = `the upload stands still: the proxy took bytes at ${from}, and has ${next.offset}`;
    if (next.offset <= from) throw new ResponseError(text, { path: "offset", body: JSON.stringify(next) });
    sending.isUnclear = false;
  }
  if (next.offset <= sending.maxOffset) return;
  sending.maxOffset = next.offset;
  sending.backoff.reset();
}

/** Waits, and decides the next request. Throws the error if another attempt cannot help. */
async function recover(
  { call }: UploadContext,
  sending: Sending,
  error: unknown,
  { onState }: SendFileHandlers,
): Promise<void> {
  const { signal, retry } = call;
  const { attempt, isNotFound, isUnclear } = sending;
  const failureClass = classify(error, sending, retry.maxRetryAfterMs);
  sending.failure = error;
  if (signal.aborted || failureClass === "final" || (failureClass === "unclear" && isUnclear)) throw error;
  // the first look-up of an interrupted upload is not a retry: without retries, its 404 is final
  const isLookUpFinal = failureClass === "not-found" && attempt === 1 && retry.limit === 0;
  if (!isLookUpFinal) {
    const onWait = ({ delayMs }: { readonly delayMs: number }) =>
      call.emit({ type: "retry", attempt, delayMs, error: error as Error });
    await sending.backoff.wait(error, { signal, onWait });
  }
  const isGone = isLookUpFinal || (failureClass === "not-found" && isNotFound);
  sending.isNotFound = failureClass === "not-found" && !isGone;
  sending.isUnclear ||= failureClass === "unclear";
  if (isGone) {
    sending.state = undefined;
    onState(undefined);
  }
  sending.phase = sending.state ? "look-up" : "begin";
}

/**
 * Classifies a failed request.
 *
 * - `temporary`: the next attempt may succeed
 * - `not-found`: the proxy does not know the upload
 * - `unclear`: a response that says nothing about the file; final if it repeats
 * - `final`: another attempt cannot help
 */
function classify(
  error: unknown,
  { state }: Sending,
  maxRetryAfterMs: number,
): "temporary" | "not-found" | "unclear" | "final" {
  if (error instanceof ConnectionError) return "temporary";
  if (error instanceof ResponseError || error instanceof TimeoutError) return "unclear";
  if (!(error instanceof APIError)) return "final";
  const { status, code, retryAfterMs = 0 } = error;
  // before the check for a closed route, because the proxy's own 404 has the same code
  if (status === 404 && state) return "not-found";
  if (isClosedRoute(error)) return "final";
  // 409: the part is already stored; `upload_cut`: the part was cut on its way; 425: too early
  if (status === 409 || status === 425 || code === "upload_cut" || isTransient(status))
    return retryAfterMs > maxRetryAfterMs ? "unclear" : "temporary";
  return status <= 400 || status === 404 ? "unclear" : "final";
}

/** Returns true for the status of a temporary failure. */
function isTransient(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

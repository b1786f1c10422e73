import { APIError, ConnectionError, ResponseError, TimeoutError } from "@sluice/core";
import {
  type Backoff,
  createBackoff,
  emitStep,
  getPauses,
  isClosedRoute,
  isTransient,
} from "@sluice/core/internal/media";
import { PART_BYTES, sendPart, type UploadContext, type UploadRequest } from "./part-request.js";
import type { UploadAtProxy } from "./upload-at-proxy.js";

/** Attempts in a row without progress, after the first. */
const MOST_FAILURES = 5;
const FIRST_WAIT_MS = 1000;
/** Largest number of times that one call sends the whole file, besides one part. */
const MOST_COPIES = 3;

/** Callbacks of {@link sendFile}. */
export interface SendFileHandlers {
  /** Called before each request with the number of stored bytes. */
  readonly onProgress: (loadedBytes: number) => void;
  /** Called with each new state; undefined where the proxy no longer has the upload. */
  readonly onState: (state: UploadAtProxy | undefined) => void;
}

/** One sending of a file. */
interface Sending {
  readonly backoff: Backoff;
  /** The next request. */
  phase: UploadRequest["phase"];
  /** State at the proxy; undefined before it has one. */
  state: UploadAtProxy | undefined;
  /** Most bytes of the file that were ever stored, also by an upload that the proxy has lost. */
  reached: number;
  /** Bytes of all parts that were sent. */
  sentBytes: number;
  /** Number of requests. */
  attempt: number;
  /** True after a 404: the second one in a row is believed. */
  isMissing: boolean;
  /** True after an answer that makes no sense: the second one in a row is final. */
  isDoubtful: boolean;
  /** The last failure. */
  failure: unknown;
}

/**
 * Sends what the proxy does not have, until the file is whole. Only stored bytes that never were stored before are
 * progress: a proxy that answers for ever, and stores nothing, comes to an end after 5 failures.
 *
 * @param known the state of an upload that was left; it is looked up first
 * @throws the error that no further attempt can mend; `onState` has received the last state
 */
export async function sendFile(
  context: UploadContext,
  known: UploadAtProxy | undefined,
  handlers: SendFileHandlers,
): Promise<UploadAtProxy> {
  const sending = openSending(context, known);
  for (;;) {
    handlers.onProgress(sending.state?.offset ?? 0);
    const part = nextPart(context, sending);
    try {
      const next = await sendPart(context, part, sending.attempt);
      advance(sending, part, next, handlers);
      if (next.url !== undefined) return next;
    } catch (error) {
      await recover(context, sending, error, handlers);
    }
  }
}

function openSending({ client, exchange }: UploadContext, known: UploadAtProxy | undefined): Sending {
  const { limit, maxRetryAfterMs } = exchange.retry;
  const waits = { clock: getPauses(client).clock(exchange.callId), random: client.random };
  return {
    backoff: createBackoff(waits, {
      limit: limit === 0 ? 0 : MOST_FAILURES,
      firstMs: FIRST_WAIT_MS,
      longestMs: maxRetryAfterMs,
    }),
    phase: known ? "look-up" : "begin",
    state: known,
    reached: known?.offset ?? 0,
    sentBytes: 0,
    attempt: 0,
    isMissing: false,
    isDoubtful: false,
    failure: undefined,
  };
}

/**
 * Returns the next request, and counts its bytes.
 *
 * @throws {ConnectionError} where one file may not cost more
 */
function nextPart({ file: { size } }: UploadContext, sending: Sending): UploadRequest {
  const { phase, state, sentBytes, failure } = sending;
  const from = state?.offset ?? 0;
  const to = phase === "look-up" ? from : Math.min(size, from + PART_BYTES);
  if (sentBytes + to - from > MOST_COPIES * size + PART_BYTES) {
    const text = `the upload was given up: ${sentBytes} bytes were sent for a file of ${size}, and it is not whole. What is stored stays; try again later`;
    throw new ConnectionError(text, "none", { cause: failure });
  }
  sending.sentBytes += to - from;
  sending.attempt += 1;
  return { phase, id: state?.id, from, to };
}

/**
 * Takes over the proxy's answer.
 *
 * @throws {ResponseError} where the proxy has taken bytes, and stores no more than before
 */
function advance(
  sending: Sending,
  { phase, from }: UploadRequest,
  next: UploadAtProxy,
  { onState }: SendFileHandlers,
): void {
  sending.isMissing = false;
  sending.state = next;
  sending.phase = "part";
  onState(next);
  if (next.url !== undefined) return;
  if (phase !== "look-up") {
    const text = `the upload stands still: the proxy took bytes at ${from}, and has ${next.offset}`;
    if (next.offset <= from) throw new ResponseError(text, { path: "offset", body: JSON.stringify(next) });
    sending.isDoubtful = false;
  }
  if (next.offset <= sending.reached) return;
  sending.reached = next.offset;
  sending.backoff.reset();
}

/** Waits, and decides the next request. Throws the error where no further attempt can help. */
async function recover(
  { client, exchange }: UploadContext,
  sending: Sending,
  error: unknown,
  { onState }: SendFileHandlers,
): Promise<void> {
  const { signal, retry } = exchange;
  const { attempt, isMissing, isDoubtful } = sending;
  const verdict = verdictOf(error, sending, retry.maxRetryAfterMs);
  sending.failure = error;
  if (signal.aborted || verdict === "final" || (verdict === "doubtful" && isDoubtful)) throw error;
  // the first look-up of an upload that was left is no repetition: its 404 is believed where none is allowed
  const isLeftAndGone = verdict === "absent" && attempt === 1 && retry.limit === 0;
  if (!isLeftAndGone) {
    const onWait = ({ delayMs }: { readonly delayMs: number }) =>
      emitStep(client, exchange, { type: "retry", attempt, delayMs, error: error as Error });
    await sending.backoff.wait(error, { signal, onWait });
  }
  const isGone = isLeftAndGone || (verdict === "absent" && isMissing);
  sending.isMissing = verdict === "absent" && !isGone;
  sending.isDoubtful ||= verdict === "doubtful";
  if (isGone) {
    sending.state = undefined;
    onState(undefined);
  }
  sending.phase = sending.state ? "look-up" : "begin";
}

/**
 * Classifies a failed request.
 *
 * - `passing`: the next attempt may succeed
 * - `absent`: the proxy does not know the upload
 * - `doubtful`: an answer that says nothing about the file; believed when it comes again
 * - `final`: another attempt cannot help
 */
function verdictOf(
  error: unknown,
  { state }: Sending,
  maxRetryAfterMs: number,
): "passing" | "absent" | "doubtful" | "final" {
  if (error instanceof ConnectionError) return "passing";
  if (error instanceof ResponseError || error instanceof TimeoutError) return "doubtful";
  if (!(error instanceof APIError)) return "final";
  const { status, code, retryAfterMs = 0 } = error;
  // also of the proxy itself, whose code is that of a closed route
  if (status === 404 && state) return "absent";
  if (isClosedRoute(error)) return "final";
  // 409: the part is stored already; `upload_cut`: it broke off on its way; 425: too early
  if (status === 409 || status === 425 || code === "upload_cut" || isTransient(error))
    return retryAfterMs > maxRetryAfterMs ? "doubtful" : "passing";
  return status <= 400 || status === 404 ? "doubtful" : "final";
}

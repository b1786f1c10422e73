import { type ErrorFields, excerpt, readErrorText } from "../../transport/error-response.js";
import { isGatewayError, StreamError, type StreamFailure, TimeoutError } from "../../vocabulary/errors.js";
import type { AssistantMessage } from "./delta.js";

/** Metadata of a stream that its errors carry. */
export interface StreamMetadata {
  /** The message so far. */
  readonly partial: AssistantMessage;
  readonly requestId: string | undefined;
}

/**
 * Error code that @sluice/worker-proxy writes into the stream after a broken connection to the gateway. Over HTTP, the
 * break would look like a normal end.
 */
const CUT_BEFORE_US = "upstream_cut";
/** Error code for a stored response whose rest is lost. */
const LOST_BEFORE_US = "stream_interrupted";

/** Adds the message so far to the error of a limit. Returns any other error unchanged. */
export function addPartial(cause: unknown, metadata: StreamMetadata): unknown {
  return isGatewayError(cause) && cause.name === "TimeoutError"
    ? new TimeoutError(cause.message, cause.phase, metadata)
    : cause;
}

/** Creates the error of a stream whose connection broke. `words`: a text that came instead of the rest. */
export function createCutError(metadata: StreamMetadata, cause?: unknown, words?: string): Error {
  const said = words && excerpt(readErrorText(words), 500);
  const text = `the stream broke off before its end${said ? ` (${said})` : ""}; \`partial\` has the message so far`;
  return createStreamError("truncated", text, metadata, {}, cause);
}

/** Creates the error that a stream carried. The API key is already removed from its text. */
export function createServerError(
  { message = "", type, code }: ErrorFields,
  metadata: StreamMetadata,
): Error {
  const reason = code === CUT_BEFORE_US || code === LOST_BEFORE_US ? "truncated" : "server-error";
  return createStreamError(reason, message, metadata, { type, code });
}

export function createStreamError(
  reason: StreamFailure,
  text: string,
  { partial, requestId }: StreamMetadata,
  fields: { readonly type?: string | undefined; readonly code?: string | undefined } = {},
  cause?: unknown,
): StreamError<AssistantMessage> {
  return new StreamError(text, { reason, partial, ...fields }, { cause, requestId });
}

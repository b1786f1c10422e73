import { addAdvice } from "../../base/advice.js";
import { StreamError, type StreamFailure } from "../../types/errors.js";
import type { AssistantMessage } from "./delta.js";

/** Metadata of a stream that its errors carry. */
export interface StreamMetadata {
  /** The message so far. */
  readonly partial: AssistantMessage;
  readonly requestId: string | undefined;
}

/** Creates the error of a stream whose connection broke. `words` came instead of the rest. */
export function createCutError(metadata: StreamMetadata, cause?: unknown, words?: string): Error {
  const text = `the stream broke off before its end${words ? ` (${words})` : ""}`;
  const error = createStreamError("truncated", text, metadata, {}, cause);
  addAdvice(error, "; `partial` has the message so far");
  return error;
}

/** Creates the error of a stream. The API key is already removed from its text. */
export function createStreamError(
  reason: StreamFailure,
  text: string,
  { partial, requestId }: StreamMetadata,
  fields: { readonly type?: string | undefined; readonly code?: string | undefined } = {},
  cause?: unknown,
): StreamError<AssistantMessage> {
  return new StreamError(text, { reason, partial, ...fields }, { cause, requestId });
}

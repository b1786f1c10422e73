import type { Client } from "../client.js";
import { isGatewayError, StreamError, type StreamFailure, TimeoutError } from "../errors.js";
import { apiErrorOf, type ErrorFields } from "../transport/error-response.js";
import type { StreamEnd } from "./protocol/chunk-parser.js";
import type { ChatMessage } from "./protocol/delta.js";

/** The facts about a stream that its errors carry. */
export interface StreamFacts {
  /** The message so far. */
  readonly partial: ChatMessage;
  readonly requestId: string | undefined;
}

/** Code of @sluice/worker-proxy, inside the stream, for a gateway connection that broke: over HTTP a cut looks like an end. */
const CUT_BEFORE_US = "upstream_cut";
/** Code for a kept answer whose rest is lost. */
const LOST_BEFORE_US = "stream_interrupted";

/** The error of a stream that ended, and not as a whole answer does. */
export function errorOfEnd({ scrub }: Client, end: StreamEnd, facts: StreamFacts): Error {
  switch (end.type) {
    case "refusal":
      return apiErrorOf({ status: 200 }, scrub(end.body), { requestId: facts.requestId });
    case "error":
      return serverError(scrub, end.fields, facts);
    case "malformed":
      return streamError("malformed", scrub(end.problem), facts, {}, end.cause);
    default:
      return cutError(facts);
  }
}

/** The error of a limit, with the message so far; any other error unchanged. */
export function timeoutWith(cause: unknown, facts: StreamFacts): unknown {
  return isGatewayError(cause) && cause.name === "TimeoutError"
    ? new TimeoutError(cause.message, cause.phase, facts)
    : cause;
}

/** The error of a stream whose connection broke. */
export function cutError(facts: StreamFacts, cause?: unknown): Error {
  const text = "the stream broke off before its end; `partial` has the message so far";
  return streamError("truncated", text, facts, {}, cause);
}

function serverError(scrub: Client["scrub"], fields: ErrorFields, facts: StreamFacts): Error {
  const { message = "the gateway reported an error", type, code } = fields;
  const reason = code === CUT_BEFORE_US || code === LOST_BEFORE_US ? "truncated" : "server-error";
  return streamError(reason, scrub(message), facts, { type, apiCode: code });
}

function streamError(
  reason: StreamFailure,
  text: string,
  { partial, requestId }: StreamFacts,
  fields: { type?: string | undefined; apiCode?: string | undefined },
  cause?: unknown,
): StreamError<ChatMessage> {
  return new StreamError(text, { reason, partial, ...fields }, { cause, requestId });
}

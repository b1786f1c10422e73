/** One broken rule of a request: where, what is wrong and what to do, and the rule's stable name. */
export interface Issue {
  /** Dot path of the field, `messages.0.content`; empty for the request as a whole. */
  readonly path: string;
  readonly message: string;
  /** Stable name, `chat.alpha.max-tokens`: safe to switch on, to translate by, to link to. */
  readonly rule: string;
}

/** Whether the gateway may have acted on a request whose answer never came. */
export type Outcome = "not-sent" | "unknown";

const brand = Symbol.for("sluice.GatewayError");

interface ErrorDetails {
  readonly cause?: unknown;
  /** The gateway's or proxy's request id, for a support ticket. */
  readonly requestId?: string | undefined;
}

/**
 * What every error of this library is. Catch it with {@link isGatewayError}, which also knows errors of
 * another copy of the package; an abort is not one of them and stays the platform's `AbortError`.
 */
export abstract class GatewayError extends Error {
  abstract override readonly name: GatewayErrorName;
  /** A literal per class, `"api"`, `"timeout"`, …: what `name` says, in kebab case. */
  abstract readonly code: string;
  readonly requestId?: string;

  constructor(message: string, { cause, requestId }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    if (requestId !== undefined) this.requestId = requestId;
  }

  /** On the prototype, not on each error: a copy of an error's fields is no error. */
  get [brand](): true {
    return true;
  }

  /** For logs: every own field, with keys, data URIs and the queries of URLs redacted. */
  toJSON(): Record<string, unknown> {
    const { cause } = this;
    return redactDeep({
      ...this,
      message: this.message,
      ...(cause === undefined ? {} : { cause }),
    }) as Record<string, unknown>;
  }
}

/** An option or a setup that can't work, said before anything is sent. */
export class ConfigurationError extends GatewayError {
  override readonly name = "ConfigurationError";
  readonly code = "configuration";
}

/** A request that breaks the gateway's rules; nothing was sent. `issues` has one entry per broken rule. */
export class ValidationError extends GatewayError {
  override readonly name = "ValidationError";
  readonly code = "validation";
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("\n"));
    this.issues = issues;
  }
}

/** What an error answer of the gateway says, read from whichever body form it came in. */
export interface APIErrorFields {
  readonly status: number;
  readonly type?: string | undefined;
  readonly apiCode?: string | undefined;
  readonly param?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The body as text, cut to 8 KB. */
  readonly body: string;
}

/** The gateway answered with an error (spec, part Errors). `message` is the gateway's own where it gave one. */
export class APIError extends GatewayError {
  override readonly name = "APIError";
  readonly code = "api";
  readonly status: number;
  readonly type?: string;
  /** `error.code` of the body, as text: `invalid_api_key`. */
  readonly apiCode?: string;
  readonly param?: string;
  /** What `Retry-After` asked for, in milliseconds from the answer. */
  readonly retryAfterMs?: number;
  readonly body: string;

  constructor(message: string, fields: APIErrorFields, details?: ErrorDetails) {
    super(message, details);
    this.status = fields.status;
    this.body = fields.body;
    if (fields.type !== undefined) this.type = fields.type;
    if (fields.apiCode !== undefined) this.apiCode = fields.apiCode;
    if (fields.param !== undefined) this.param = fields.param;
    if (fields.retryAfterMs !== undefined) this.retryAfterMs = fields.retryAfterMs;
  }
}

/**
 * No answer came. `outcome` says whether the gateway may have acted: `"not-sent"` (the connection was never
 * made, sending again is safe) or `"unknown"` (it may have, and may bill).
 */
export class ConnectionError extends GatewayError {
  override readonly name = "ConnectionError";
  readonly code = "connection";
  readonly outcome: Outcome;

  constructor(message: string, outcome: Outcome, details?: ErrorDetails) {
    super(message, details);
    this.outcome = outcome;
  }
}

/** Which clock ran out: waiting for headers, between two bytes, the whole request, or a task's deadline. */
export type TimeoutPhase = "headers" | "idle" | "total" | "deadline";

/** Something took longer than `timeouts` allows. `partial` is the message so far, where a stream had begun. */
export class TimeoutError<Partial = unknown> extends GatewayError {
  override readonly name = "TimeoutError";
  readonly code = "timeout";
  readonly phase: TimeoutPhase;
  readonly partial?: Partial;

  constructor(message: string, phase: TimeoutPhase, details: ErrorDetails & { partial?: Partial } = {}) {
    super(message, details);
    this.phase = phase;
    if (details.partial !== undefined) this.partial = details.partial;
  }
}

/**
 * Why a stream is no success: it stopped before its end, carried something unreadable, or carried an error.
 */
export type StreamFailure = "truncated" | "malformed" | "server-error";

/** A stream that did not reach its end. `partial` is the message as far as it came: nothing is lost. */
export class StreamError<Partial = unknown> extends GatewayError {
  override readonly name = "StreamError";
  readonly code = "stream";
  readonly reason: StreamFailure;
  readonly partial: Partial;
  /** `error.type` and `error.code` of an error sent inside the stream. */
  readonly type?: string;
  readonly apiCode?: string;

  constructor(
    message: string,
    fields: {
      reason: StreamFailure;
      partial: Partial;
      type?: string | undefined;
      apiCode?: string | undefined;
    },
    details?: ErrorDetails,
  ) {
    super(message, details);
    this.reason = fields.reason;
    this.partial = fields.partial;
    if (fields.type !== undefined) this.type = fields.type;
    if (fields.apiCode !== undefined) this.apiCode = fields.apiCode;
  }
}

/** A 200 answer that does not fit the spec: a documented field is missing or of the wrong type. */
export class ResponseError extends GatewayError {
  override readonly name = "ResponseError";
  readonly code = "response";
  /** Dot path of the field that does not fit. */
  readonly path: string;
  /** The answer's text, cut to 8 KB. */
  readonly body: string;

  constructor(message: string, fields: { path: string; body: string }, details?: ErrorDetails) {
    super(message, details);
    this.path = fields.path;
    this.body = fields.body;
  }
}

/** Every error class of the library: narrow it by `name`. */
export type AnyGatewayError =
  | ConfigurationError
  | ValidationError
  | APIError
  | ConnectionError
  | TimeoutError
  | StreamError
  | ResponseError;

/** The literal `name`s of {@link AnyGatewayError}. */
export type GatewayErrorName =
  | "ConfigurationError"
  | "ValidationError"
  | "APIError"
  | "ConnectionError"
  | "TimeoutError"
  | "StreamError"
  | "ResponseError";

/**
 * Whether `error` is one of this library's, also when two copies of the package are loaded.
 *
 * @example
 * ```ts
 * try {
 *   await completeChat(client, request);
 * } catch (error) {
 *   if (isGatewayError(error) && error.name === "APIError" && error.status === 429) wait(error.retryAfterMs);
 *   else throw error;
 * }
 * ```
 */
export function isGatewayError(error: unknown): error is AnyGatewayError {
  return typeof error === "object" && error !== null && brand in error;
}

const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer\s+)[^\s"',;]+/gi, "$1[redacted]"],
  [/\bsk-[\w-]{6,}/g, "sk-[redacted]"],
  [/\b(data:[\w.+-]+\/[\w.+-]+)[^,\s"']*,[\w+/=%-]{16,}/gi, "$1,[redacted]"],
  [/\b(https?:\/\/)[^\s"'/@]+@/gi, "$1[redacted]@"],
  [/\b(https?:\/\/[^\s"'?#]+)\?[^\s"'\\]+/gi, "$1?[redacted]"],
];

/** `text` without API keys, data URIs, and the credentials and queries of URLs (where signatures are). */
export function redact(text: string): string {
  return secrets.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}

function redactDeep(value: unknown): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map(redactDeep);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return isGatewayError(value) ? value.toJSON() : redact(String(value));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redactDeep(entry)]));
}

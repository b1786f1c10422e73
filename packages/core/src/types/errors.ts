import type { Asset, AssetHandle } from "./asset.js";
import { toJSONText } from "./json-text.js";
import type { FailedVideoTask, PendingVideoTask, VideoTaskHandle } from "./video-task.js";

/** One broken rule of a request: the field, the problem with its solution, and the name of the rule. */
export interface Issue {
  /** Dot path of the field, `messages.0.content`; empty for the request as a whole. */
  readonly path: string;
  /** Description of the problem and its fix. */
  readonly message: string;
  /** Stable name of the rule, `chat.alpha.max-tokens`. Use it to compare, translate or link issues. */
  readonly rule: string;
}

/**
 * The outcome of a response, a message, a turn or a call. The outcome of a turn covers all its requests.
 *
 * - `complete`: the gateway confirmed the end
 * - `tool-calls`: the response calls tools. For a turn: a call waits for the user or the app
 * - `length`: truncated at `max_tokens`
 * - `content-filter`: stopped by the gateway's content filter
 * - `insufficient-resource`: stopped because the gateway had no capacity
 * - `unconfirmed`: the stream ended without a `finish_reason`, so a part may be missing. No tool runs
 * - `step-limit`: `maxSteps` responses came. `retry()` allows as many again
 * - `stopped`: the user or the app stopped it
 * - `truncated`: the rest is lost, because the connection, the page or the proxy ended. It has an error
 * - `error`: the gateway, a tool loop or the page failed. It has an error
 * - `not-sent`: nothing was sent. It has an error
 */
export type Outcome =
  | "complete"
  | "tool-calls"
  | "length"
  | "content-filter"
  | "insufficient-resource"
  | "unconfirmed"
  | "step-limit"
  | "stopped"
  | "truncated"
  | "error"
  | "not-sent";

/**
 * Billing of a failed request.
 *
 * - `none`: the gateway rejected it, or never received it. Sending it again is safe
 * - `maybe`: the gateway may have acted and billed it. Check before you send it again
 */
export type Billing = "none" | "maybe";

/**
 * How far a failed request got. It decides if another attempt is allowed.
 *
 * - `not-sent`: the gateway never received it
 * - `refused`: the gateway rejected it
 * - `unknown`: the gateway may have acted
 */
export type Delivery = "not-sent" | "refused" | "unknown";

const brand = Symbol.for("sluice.GatewayError");

interface ErrorDetails {
  /** Cause of this error. */
  readonly cause?: unknown;
  /** The gateway's or proxy's request id, for a support ticket. */
  readonly requestId?: string | undefined;
}

/**
 * Base class of every error of this library. Catch it with {@link isGatewayError}, which also recognizes errors of a
 * second copy of the package. Aborts are different: they reject with the platform's `AbortError`.
 *
 * @example
 * ```ts run
 * const readId = (error: unknown) => (error instanceof GatewayError ? error.requestId : undefined);
 * ```
 */
export abstract class GatewayError extends Error {
  /** Name of the error's class. Use it to narrow an error. */
  abstract override readonly name: GatewayErrorName;
  /** Request id of the gateway or the proxy, for a support ticket. */
  readonly requestId?: string;
  /** Billing of the request. Absent from errors about an existing task or asset. */
  declare readonly billing?: Billing;
  /** Handle of the error's task or asset. Use it to continue watching. */
  declare readonly handle?: VideoTaskHandle | AssetHandle;

  constructor(message: string, { cause, requestId }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    if (requestId !== undefined) this.requestId = requestId;
  }

  /** Defined on the prototype, so that a copy of an error's fields is not an error. */
  get [brand](): true {
    return true;
  }

  /**
   * Returns the fields for logs, with keys, data URIs and URL queries redacted. Omits the text of a response:
   * `partial`, and `body` unless the status is an error status.
   */
  toJSON(): Record<string, unknown> {
    const { message, cause } = this;
    const { partial: _, body, ...fields } = { ...this } as Record<string, unknown>;
    const refusal = Number(fields["status"]) >= 400 && { body };
    return redactDeep({ ...fields, ...refusal, message, cause }) as Record<string, unknown>;
  }
}

/** An error with additional fields. */
abstract class DetailedError<Fields extends object> extends GatewayError {
  constructor(message: string, fields: Fields, details?: ErrorDetails) {
    super(message, details);
    Object.assign(this, fields);
  }
}

/**
 * An invalid option, or a failed function in the options. Nothing was sent.
 *
 * @example
 * ```ts run
 * try {
 *   createClient({ baseURL: "no address" });
 * } catch (error) {
 *   if (isGatewayError(error) && error.name === "ConfigurationError") console.log(error.message);
 *   else throw error;
 * }
 * ```
 */
export class ConfigurationError extends GatewayError {
  override readonly name = "ConfigurationError";
  override readonly billing = "none";
}

/**
 * A request that breaks the gateway's rules; nothing was sent. `issues` has one entry per broken rule.
 *
 * @example
 * ```ts run
 * try {
 *   await completeChat(client, { model: "delta-5.3", messages: [] });
 * } catch (error) {
 *   if (isGatewayError(error) && error.name === "ValidationError") console.log(error.issues[0]?.path); // "messages"
 *   else throw error;
 * }
 * ```
 */
export class ValidationError extends DetailedError<{ readonly issues: readonly Issue[] }> {
  override readonly name = "ValidationError";
  override readonly billing = "none";
  /** Every broken rule. Never empty. */
  declare readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("\n"), { issues });
  }
}

/** The fields of an {@link APIError}. */
export interface APIErrorFields {
  /** HTTP status of the response. */
  readonly status: number;
  /** `error.type` of the body. */
  readonly type?: string | undefined;
  /** `error.code` of the body, as text. */
  readonly code?: string | undefined;
  /** `error.param` of the body. */
  readonly param?: string | undefined;
  /** Wait of `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** `proxy` if the proxy rejected it. */
  readonly source?: "proxy" | undefined;
  /** `wrong-address` if another server responded. */
  readonly reason?: "wrong-address" | undefined;
  /** Body of the response as text. */
  readonly body: string;
}

/**
 * Error response of the gateway (spec, Errors). `message` is the gateway's message, if it sent one.
 *
 * @example
 * ```ts run
 * const isBusy = (error: unknown) => isGatewayError(error) && error.name === "APIError" && error.status === 429;
 * ```
 */
export class APIError extends DetailedError<APIErrorFields> {
  override readonly name = "APIError";
  /** HTTP status of the response, 400 to 599. A 2xx status if the response is not JSON or carries an error. */
  declare readonly status: number;
  /** `error.type` of the body: `authentication_error`. */
  declare readonly type?: string;
  /** `error.code` of the body, as text: `invalid_api_key`. */
  declare readonly code?: string;
  /** `error.param` of the body: the field that the gateway refuses. */
  declare readonly param?: string;
  /** Wait of `Retry-After`, in milliseconds after the response. */
  declare readonly retryAfterMs?: number;
  /** Set if `@sluice/worker-proxy` rejected the request, not the gateway. */
  declare readonly source?: "proxy";
  /**
   * Set if another server responded, or the proxy does not serve the path: `baseURL` is wrong, or a route is closed.
   */
  declare readonly reason?: "wrong-address";
  /** Body of the response as text, truncated to 8 KB. */
  declare readonly body: string;
}

/**
 * No response came. `billing` is `"none"` if there was no connection, or if the gateway rejected every earlier attempt.
 * It is `"maybe"` if the gateway may have acted.
 *
 * @example
 * ```ts run
 * const isOffline = (error: unknown) => isGatewayError(error) && error.name === "ConnectionError";
 * ```
 */
export class ConnectionError extends DetailedError<{ readonly billing: Billing }> {
  override readonly name = "ConnectionError";
  declare readonly billing: Billing;
  /**
   * `origin-refused`: the server is reachable but does not allow the page's origin (CORS). Only set in development on a
   * local page, `http://localhost`. Absent for other reasons, which browsers do not report.
   */
  declare readonly reason?: "origin-refused";

  constructor(message: string, billing: Billing, details?: ErrorDetails) {
    super(message, { billing }, details);
  }
}

/**
 * The exceeded limit. `first-chunk`: until the first content. `chunk`: between two pieces of the response. `total`: the
 * whole request. `deadline`: the watch of a task.
 */
export type TimeoutPhase = "first-chunk" | "chunk" | "total" | "deadline";

interface TimeoutDetails<Partial> extends ErrorDetails {
  /** The message so far, if a stream had begun. */
  readonly partial?: Partial;
}

/**
 * A request exceeded a limit of `timeout`. `partial` is the message so far, if a stream had begun.
 *
 * @example
 * ```ts run
 * const neverBegan = (error: unknown) =>
 *   isGatewayError(error) && error.name === "TimeoutError" && error.phase === "first-chunk";
 * ```
 */
export class TimeoutError<Partial = unknown> extends DetailedError<{ readonly phase: TimeoutPhase }> {
  override readonly name = "TimeoutError";
  /** The exceeded limit. */
  declare readonly phase: TimeoutPhase;
  /** The message so far, if a stream had begun. */
  declare readonly partial?: Partial;

  constructor(message: string, phase: TimeoutPhase, { partial, ...details }: TimeoutDetails<Partial> = {}) {
    super(message, { phase, ...(partial !== undefined && { partial }) }, details);
  }
}

/**
 * Reason of a failed stream. `truncated`: it stopped before its end. `interrupted`: the page or the server that read it
 * was closed. `malformed`: it was unreadable. `server-error`: it carried an error.
 */
export type StreamFailure = "truncated" | "interrupted" | "malformed" | "server-error";

interface StreamErrorFields<Partial> {
  /** Reason of the failure. */
  readonly reason: StreamFailure;
  /** The message so far. */
  readonly partial: Partial;
  /** `error.type` of an error inside the stream. */
  readonly type?: string | undefined;
  /** `error.code` of an error inside the stream, as text. */
  readonly code?: string | undefined;
}

/**
 * A stream that broke or carried an error. `partial` is the message so far.
 *
 * @example
 * ```ts run
 * const isCutOff = (error: unknown) =>
 *   isGatewayError(error) && error.name === "StreamError" && error.reason === "truncated";
 * ```
 */
export class StreamError<Partial = unknown> extends DetailedError<StreamErrorFields<Partial>> {
  override readonly name = "StreamError";
  /** Reason of the failure. */
  declare readonly reason: StreamFailure;
  /** The message so far. */
  declare readonly partial: Partial;
  /** `error.type` of an error inside the stream. */
  declare readonly type?: string;
  /** `error.code` of an error inside the stream, as text. */
  declare readonly code?: string;
}

interface ResponseErrorFields {
  /** Dot path of the invalid field. */
  readonly path: string;
  /** Text of the response, truncated to 8 KB. */
  readonly body: string;
}

/**
 * A successful response that does not fit the spec: a documented field is missing or has the wrong type.
 *
 * @example
 * ```ts run
 * const wrongField = (error: unknown) =>
 *   isGatewayError(error) && error.name === "ResponseError" ? error.path : undefined;
 * ```
 */
export class ResponseError extends DetailedError<ResponseErrorFields> {
  override readonly name = "ResponseError";
  /** Dot path of the invalid field. */
  declare readonly path: string;
  /** Text of the response, truncated to 8 KB. */
  declare readonly body: string;
}

/**
 * Reason of a failed task. `failed`: the video or the asset failed. `no-result`: the gateway reports success but never
 * sends a URL. `expired`: the gateway has deleted the task after its retention time.
 */
export type TaskFailure = "failed" | "no-result" | "expired";

interface TaskErrorFields {
  /** Reason of the failure. */
  readonly reason: TaskFailure;
  /** Last snapshot of the video task or the asset; absent after its expiry. */
  readonly task?: FailedVideoTask | PendingVideoTask | Asset;
}

/**
 * A video task without a video, or an asset whose preparation failed: register the image again. `handle` is its handle
 * and `task` its last snapshot.
 *
 * @example
 * ```ts run
 * const isExpired = (error: unknown) =>
 *   isGatewayError(error) && error.name === "TaskError" && error.reason === "expired";
 * ```
 */
export class TaskError extends DetailedError<TaskErrorFields> {
  override readonly name = "TaskError";
  /** Reason of the failure. */
  declare readonly reason: TaskFailure;
  /** Last snapshot of the video task or the asset; absent after its expiry. */
  declare readonly task?: FailedVideoTask | PendingVideoTask | Asset;
}

/** Delivery by error. `billing` does not distinguish `refused` from `not-sent`. */
const deliveries = new WeakMap<object, Delivery>();

/** Records how far the request of an error got, and its billing. */
export function setDelivery<Thrown extends object>(error: Thrown, delivery: Delivery): Thrown {
  deliveries.set(error, delivery);
  return Object.assign(error, { billing: delivery === "unknown" ? "maybe" : "none" });
}

/** Returns how far the request of an error got; undefined if the error lacks `billing`. */
export function readDelivery(error: GatewayError): Delivery | undefined {
  const { name, billing } = error;
  const delivery = deliveries.get(error);
  if (delivery || !billing) return delivery;
  if (billing === "maybe") return "unknown";
  // an error of a second copy of this package
  return name === "APIError" ? "refused" : "not-sent";
}

/** Adds the handle to an error. An existing one and errors of other libraries stay unchanged. */
export function addHandle<Thrown>(error: Thrown, handle: GatewayError["handle"]): Thrown {
  if (isGatewayError(error) && error.handle === undefined) Object.assign(error, { handle });
  return error;
}

/**
 * Converts any thrown value to an error.
 *
 * @example
 * ```ts
 * await storage.read("notes").catch((cause) => show(toError(cause).message));
 * ```
 */
export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(describeThrown(cause), { cause });
}

/**
 * Describes any thrown value by its message or its JSON. Programs also throw plain objects.
 *
 * @example
 * ```ts
 * await storage.read("notes").catch((cause) => show(describeThrown(cause)));
 * ```
 */
export function describeThrown(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown };
  if (typeof message === "string" && message !== "") return message;
  if (thrown instanceof Error) return String(name);
  const json = toJSONText(thrown);
  // platform objects, such as a Response, have no enumerable fields
  return json === undefined || json === "{}"
    ? `${Object.prototype.toString.call(thrown)} without a message`
    : json;
}

/** Every error class of the library. `name` tells them apart. */
export type AnyGatewayError =
  | ConfigurationError
  | ValidationError
  | APIError
  | ConnectionError
  | TimeoutError
  | StreamError
  | ResponseError
  | TaskError;

/** The literal `name`s of {@link AnyGatewayError}. */
export type GatewayErrorName = AnyGatewayError["name"];

/**
 * Returns true for an error of this library, even of a second copy of the package.
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

// every part is bounded or cannot backtrack, so matching takes linear time
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer\s+)[^\s"',;]+/gi, "$1[redacted]"],
  [/\bsk-[\w-]{6,}/g, "sk-[redacted]"],
  [/\b(data:[\w.+-]{1,64}\/[\w.+-]{1,64})(?:;[^,;\s"']{0,64}){0,4},[\w+/=%-]{16,}/gi, "$1,[redacted]"],
];
const ADDRESS = /https?:\/\/[^\s"'\\]+/gi;

/** Removes API keys and data URIs from a text. Removes credentials and queries from URLs: a query may have a signature. */
function redact(text: string): string {
  return secrets.reduce(
    (clean, [pattern, replacement]) => clean.replace(pattern, replacement),
    text.replace(ADDRESS, redactAddress),
  );
}

function redactAddress(address: string): string {
  const query = address.indexOf("?") + 1;
  const shown = query > 0 && query < address.length ? `${address.slice(0, query)}[redacted]` : address;
  return shown.replace(/\/\/[^/@]+@/g, "//[redacted]@");
}

/** Largest depth of an error to show and redact. Only the gateway's JSON may be deeper. */
const MAX_DEPTH = 16;

function redactDeep(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "…";
  if (value instanceof Error) return isGatewayError(value) ? value.toJSON() : redact(String(value));
  if (Array.isArray(value)) return value.map((entry) => redactDeep(entry, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redactDeep(entry, depth + 1)]));
}

/**
 * Removes secrets from every text of an error in place: message, stack, fields and causes. Replaces a changed cause by
 * a copy.
 *
 * @param clean returns a text without its secrets
 */
export function cleanError(error: object, clean: (text: string) => string): void {
  Object.defineProperties(error, redactProperties(error, clean));
}

function redactProperties(error: object, clean: (text: string) => string): PropertyDescriptorMap {
  const changes: PropertyDescriptorMap = {};
  for (const name of Object.getOwnPropertyNames(error)) {
    const original: unknown = Reflect.get(error, name);
    const value = redactValue(original, clean);
    const enumerable = Object.prototype.propertyIsEnumerable.call(error, name);
    if (value !== original) changes[name] = { value, enumerable, configurable: true };
  }
  return changes;
}

function redactValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === "string") return clean(value);
  if (value instanceof Error) {
    const changes = redactProperties(value, clean);
    // the copy inherits from the original, so that `instanceof` still works
    return Object.keys(changes).length > 0 ? Object.create(value, changes) : value;
  }
  if (typeof value !== "object") return value;
  const json = toJSONText(value) ?? "";
  const cleanJSON = clean(json);
  return cleanJSON === json ? value : JSON.parse(cleanJSON);
}

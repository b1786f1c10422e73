import { addAdvice } from "../base/advice.js";
import {
  APIError,
  type Billing,
  ConnectionError,
  type Delivery,
  isGatewayError,
  readDelivery,
} from "../types/errors.js";

/** Reads the request id from the headers of a response. */
export function readRequestId({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/** Returns true if a proxy does not serve the path. A retry cannot help. */
export function isClosedRoute(error: unknown): error is APIError {
  return error instanceof APIError && error.source === "proxy" && error.code === "not_found";
}

/**
 * Returns true if the gateway itself responded with a 404 in JSON (spec, Errors). An HTML page may come from any server
 * in between. `@sluice/worker-proxy` forwards it with the code `upstream_type`.
 */
export function isAbsent({ status, body, code }: APIError): boolean {
  return status === 404 && code !== "upstream_type" && /^\s*[[{]/.test(body);
}

/** Adds advice for the operator to the error of a proxy that does not serve the path. */
export function addRouteAdvice(error: unknown, todo: string): unknown {
  if (isClosedRoute(error)) error.message = `the proxy does not serve this path: ${todo}`;
  return error;
}

/** Returns true for a status that means that the gateway rejected the request and did not act. */
export function isRefused({ status }: { readonly status: number }): boolean {
  return status < 500 && status !== 408;
}

/** Returns true for a temporary failure: 408, 429, 5xx and failed connections. */
export function isTransient(error: Error): boolean {
  const { name, status = 0 } = error as Partial<APIError>;
  if (name !== "APIError") return name === "ConnectionError";
  return status === 408 || status === 429 || status >= 500;
}

/** Returns how far a failed attempt got. A 4xx is a rejection, except for 408. */
export function findDelivery(error: unknown): Delivery {
  if (error instanceof ConnectionError) return readDelivery(error) ?? "unknown";
  return error instanceof APIError && isRefused(error) ? "refused" : "unknown";
}

/** Statuses of requests that were rejected before any server read their idempotency key. */
const REFUSED_EARLY = [401, 403, 429];

/**
 * Returns true if a retry by the user must reuse the `idempotency-key` of the failed request: its result is unknown, or
 * it was rejected early. Otherwise the user wants a new response, and a server that remembers the key would replay the
 * old one.
 *
 * @param billing billing of a stopped request. A request that did not arrive leaves its key usable
 * @example
 * ```ts
 * const keepsKey = (error: unknown) => canReuseKey(error);
 * ```
 */
export function canReuseKey(error: unknown, billing: Billing = "maybe"): boolean {
  if (!isGatewayError(error)) return billing === "none";
  switch (error.name) {
    case "APIError":
      // the proxy lost the object that stores the response
      return REFUSED_EARLY.includes(error.status) || error.code === "plugin_unavailable";
    case "StreamError":
      return error.reason === "truncated" && error.code === undefined;
    case "TimeoutError":
      // not for a timeout within a stream
      return error.partial === undefined;
    default:
      return error.name === "ConnectionError" || error.billing === "none";
  }
}

const NEVER_CONNECTED =
  /conn(ection ?)?refused|bad port|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|CONNECT_TIMEOUT|FailedToOpenSocket|dns error|tcp connect error/i;

/** Converts an error of `fetch` or of a broken body to a `ConnectionError`. */
export function toConnectionError(cause: unknown): ConnectionError {
  const { cause: reason, message } = (cause ?? {}) as {
    cause?: { code?: unknown; message?: unknown };
    message?: string;
  };
  const text = `${message} ${reason?.code} ${reason?.message}`;
  // a certificate is checked before anything is sent. Only the code is tested, because an address may contain the same
  // words
  if (!NEVER_CONNECTED.test(text) && !/CERT|UNABLE_TO_VERIFY/.test(String(reason?.code)))
    return new ConnectionError(
      "the connection failed before a response arrived; the gateway may have received the request",
      "maybe",
      { cause },
    );
  const error = new ConnectionError("could not connect to the gateway: the request was not sent", "none", {
    cause,
  });
  addAdvice(error, "; check the base URL and network");
  return error;
}

/**
 * Returns how far the request of an error got: `not-sent`, `refused`, or `unknown` if the gateway may have acted. Unlike
 * `billing`, it distinguishes a refused request from a request that was not sent.
 *
 * @example
 * ```ts
 * const canTryAgain = (error: unknown) => getDelivery(error) === "not-sent";
 * ```
 */
export function getDelivery(error: unknown): Delivery {
  return (isGatewayError(error) && readDelivery(error)) || findDelivery(error);
}

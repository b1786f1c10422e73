import {
  APIError,
  type Billing,
  ConnectionError,
  type Delivery,
  isGatewayError,
  readDelivery,
} from "../vocabulary/errors.js";

/** Finds the id of a request in the headers of the gateway's or the proxy's answer. */
export function readRequestId({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/** Returns true if a proxy refused a path that it does not serve: a repetition cannot help. */
export function isClosedRoute(error: unknown): error is APIError {
  return error instanceof APIError && error.source === "proxy" && error.code === "not_found";
}

/**
 * Returns true if the gateway itself does not know what was asked for: a 404 in JSON (spec, Errors). A page may come
 * from any server on the way; `@sluice/worker-proxy` passes it on with the code `upstream_type`.
 */
export function isAbsent({ status, body, code }: APIError): boolean {
  return status === 404 && code !== "upstream_type" && /^\s*[[{]/.test(body);
}

/** Adds the way to open a path to the error of a proxy that does not serve it. */
export function addRouteAdvice(error: unknown, todo: string): unknown {
  if (isClosedRoute(error)) error.message = `the proxy does not serve this path: ${todo}`;
  return error;
}

/**
 * Returns true for an error status by which the gateway refuses: it has not acted. All others say that something went
 * wrong.
 */
export function isRefused({ status }: { readonly status: number }): boolean {
  return status < 500 && status !== 408;
}

/**
 * Returns how far an attempt got that failed with `error`. A 4xx is a refusal, unless the gateway gave up waiting.
 */
export function findDelivery(error: unknown): Delivery {
  if (error instanceof ConnectionError) return readDelivery(error) ?? "unknown";
  return error instanceof APIError && isRefused(error) ? "refused" : "unknown";
}

/** Statuses of a request that was turned away before anything looked at its key. */
const REFUSED_EARLY = [401, 403, 429];

/**
 * Returns true if a request that failed with `error` has the same `idempotency-key` when the user asks again: nobody
 * knows how it ended, or it was turned away. With any other end the user wants another answer, and a server that
 * remembers this one would give it again for ever.
 *
 * @param billing cost of a request that was stopped: one that did not arrive leaves its key to an earlier one
 */
export function canReuseKey(error: unknown, billing: Billing = "maybe"): boolean {
  if (!isGatewayError(error)) return billing === "none";
  switch (error.name) {
    case "APIError":
      // the proxy lost the object that has the answer
      return REFUSED_EARLY.includes(error.status) || error.code === "extension_unavailable";
    case "StreamError":
      return error.reason === "truncated" && error.code === undefined;
    case "TimeoutError":
      // a stream that had begun was stopped
      return error.partial === undefined;
    default:
      return error.name === "ConnectionError" || error.billing === "none";
  }
}

const NEVER_CONNECTED =
  /conn(ection ?)?refused|bad port|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|CONNECT_TIMEOUT|FailedToOpenSocket|dns error|tcp connect error/i;

/** Makes an error of this library from an error of `fetch`, or of a body that broke off. */
export function toConnectionError(cause: unknown): ConnectionError {
  const { cause: reason, message } = (cause ?? {}) as {
    cause?: { code?: unknown; message?: unknown };
    message?: string;
  };
  const text = `${message} ${reason?.code} ${reason?.message}`;
  // a certificate is checked before anything is sent; its words may be in an address, too
  return NEVER_CONNECTED.test(text) || /CERT|UNABLE_TO_VERIFY/.test(String(reason?.code))
    ? new ConnectionError(
        "could not connect to the gateway: the request was not sent; check the base URL and network",
        "none",
        { cause },
      )
    : new ConnectionError(
        "the connection failed before an answer came; the gateway may have received the request",
        "maybe",
        { cause },
      );
}

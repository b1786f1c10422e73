import { apiErrorOf } from "./error-body.js";
import { APIError, ConnectionError, type Outcome } from "./errors.js";

/** The gateway's or the proxy's id of a request, if the answer names one. */
export function requestIdOf({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/** The error that an answer is whose status is no success; `scrub` cleans what it echoes. */
export async function errorOf(response: Response, scrub: (text: string) => string): Promise<APIError> {
  const requestId = requestIdOf(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return new APIError(message, { status: response.status, body: "" }, { requestId });
  }
  const retryAfterMs = retryAfterOf(response);
  const body = scrub(await response.text());
  const source = response.headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return apiErrorOf(response, body, { requestId, retryAfterMs, source });
}

/** Whether a proxy refused a path that it does not serve: repeating the request can't help. */
export function isClosedRoute(error: unknown): error is APIError {
  return error instanceof APIError && error.source === "proxy" && error.apiCode === "not_found";
}

/** Adds to the error of a path that a proxy does not serve how to open it. */
export function withRoute(error: unknown, todo: string): unknown {
  if (isClosedRoute(error)) error.message = `the proxy does not serve this path: ${todo}`;
  return error;
}

/** `Retry-After` in milliseconds: seconds, with a fraction too, or a date; undefined for anything else. */
function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

/** What became of a request that ended so. A 4xx is a refusal, except for giving up waiting. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof ConnectionError) return error.outcome;
  return error instanceof APIError && error.status < 500 && error.status !== 408 ? "refused" : "unknown";
}

/** Refused for now, and surely not acted on. */
export function isRateLimit(error: Error): boolean {
  return error instanceof APIError && error.status === 429;
}

/** What may pass: 408, 429, 5xx and failed connections. */
export function isTransient(error: Error): boolean {
  if (!(error instanceof APIError)) return error instanceof ConnectionError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

const NEVER_CONNECTED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|Connection ?Refused|FailedToOpenSocket|dns error|tcp connect error/i;

/** What a `fetch` threw, or a body that broke off, as one of the family. */
export function connectionError(cause: unknown): ConnectionError {
  const { cause: reason, message } = cause as {
    cause?: { code?: unknown; message?: unknown };
    message?: string;
  };
  const said = `${message} ${reason?.code} ${reason?.message}`;
  return NEVER_CONNECTED.test(said)
    ? new ConnectionError(
        "could not connect to the gateway: nothing was sent; check the base URL and the network",
        "not-sent",
        { cause },
      )
    : new ConnectionError(
        "the connection failed before an answer came; the gateway may have received the request",
        "unknown",
        { cause },
      );
}

import { type Clock, openSpan, unlessAborted } from "../base/clock.js";
import { APIError, ConnectionError, type Outcome } from "../errors.js";
import { apiErrorOf } from "./error-response.js";

/** Finds the id of a request in the headers of the gateway's or the proxy's answer. */
export function requestIdOf({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/**
 * Makes the error of an answer with a status of failure. The status decides. A body that is cut, silent or endless does
 * not matter, and the beginning of a long one is enough.
 */
export async function errorOf(
  response: Response,
  { clock, scrub }: { readonly clock: Clock; readonly scrub: (text: string) => string },
  signal: AbortSignal,
): Promise<APIError> {
  const requestId = requestIdOf(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    response.body?.cancel().catch(() => {});
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return new APIError(message, { status: response.status, body: "" }, { requestId });
  }
  const retryAfterMs = retryAfterOf(response);
  // before the text is cut: the half of a key would not be recognised
  const body = scrub(await startOf(response, clock, signal));
  const source = response.headers.get("x-sluice-source") === "proxy" ? "proxy" : undefined;
  return apiErrorOf(response, body, { requestId, retryAfterMs, source });
}

/** Returns true if a proxy refused a path that it does not serve: a repetition cannot help. */
export function isClosedRoute(error: unknown): error is APIError {
  return error instanceof APIError && error.source === "proxy" && error.apiCode === "not_found";
}

/** Adds the way to open a path to the error of a proxy that does not serve it. */
export function withRoute(error: unknown, todo: string): unknown {
  if (isClosedRoute(error)) error.message = `the proxy does not serve this path: ${todo}`;
  return error;
}

/** Largest number of characters of a refusal's body that are read, and the longest wait for them. */
const REFUSAL_LENGTH = 65_536;
const REFUSAL_MS = 5000;

async function startOf(response: Response, clock: Clock, caller: AbortSignal): Promise<string> {
  const { signal, end } = openSpan(clock, caller, REFUSAL_MS, () => undefined);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    if (!reader) text = await unlessAborted(response.text(), signal);
    while (reader && text.length < REFUSAL_LENGTH) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // the body was cut, or was silent for too long
  }
  end();
  reader?.cancel().catch(() => {});
  return text.slice(0, REFUSAL_LENGTH);
}

/** Reads `Retry-After` as milliseconds: seconds, also with a fraction, or a date; undefined for other values. */
function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

/**
 * Returns the outcome of a request that failed with `error`. A 4xx is a refusal, unless the gateway gave up waiting.
 */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof ConnectionError) return error.outcome;
  return error instanceof APIError && error.status < 500 && error.status !== 408 ? "refused" : "unknown";
}

/** Returns true if the gateway refused for now, and certainly did not act. */
export function isRateLimit(error: Error): boolean {
  return error instanceof APIError && error.status === 429;
}

/** Returns true if a failure may pass: 408, 429, 5xx and failed connections. */
export function isTransient(error: Error): boolean {
  if (!(error instanceof APIError)) return error instanceof ConnectionError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

const NEVER_CONNECTED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|Connection ?Refused|FailedToOpenSocket|dns error|tcp connect error/i;

/**
 * Makes an error of this library from an error of `fetch`, or of a body that broke off.
 *
 * @param url address of the request, if no answer came
 */
export function connectionError(cause: unknown, url?: string): ConnectionError {
  const { cause: reason, message } = (cause ?? {}) as {
    cause?: { code?: unknown; message?: unknown };
    message?: string;
  };
  const text = `${message} ${reason?.code} ${reason?.message}`;
  return NEVER_CONNECTED.test(text)
    ? new ConnectionError(
        "could not connect to the gateway: nothing was sent; check the base URL and the network",
        "not-sent",
        { cause },
      )
    : new ConnectionError(
        `the connection failed before an answer came; the gateway may have received the request${crossOrigin(url)}`,
        "unknown",
        { cause },
      );
}

/** The likely reason of a failure across origins, which a browser does not report. */
function crossOrigin(url: string | undefined): string {
  const page = globalThis.location?.origin;
  const origin = url && new URL(url).origin;
  if (!page || !origin || origin === page) return "";
  return `. From ${page} to ${origin}, CORS may be the reason: list ${page} in the proxy's \`origins\`, and check baseURL`;
}

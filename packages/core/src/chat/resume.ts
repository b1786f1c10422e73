import { createBackoff } from "../base/backoff.js";
import type { Client } from "../client.js";
import type { HeadersInput } from "../transport/headers.js";
import { pausesOf } from "../transport/pauses.js";
import { errorOf } from "../transport/refusal.js";
import { requestOnce } from "../transport/request-once.js";
import type { Exchange, send } from "../transport/send.js";
import type { APIError, StreamError } from "../vocabulary/errors.js";

// loaded for the few proxies that keep answers; what every page has loaded is given to it

/** An answer that the proxy keeps, and the parts of the client that reach it. */
interface KeptPlace {
  readonly client: Client;
  readonly exchange: Exchange;
  readonly headers: HeadersInput | undefined;
  /** The proxy's path of the answer; undefined for an id that no proxy gives. */
  readonly path: string | undefined;
  readonly send: typeof send;
}

/** Requests for a kept answer. */
export interface Resumption {
  /**
   * Requests the rest of the answer, by `GET /v1/chat/streams/{id}` (`@sluice/durable`). The chat request is
   * never sent again. Returns undefined where nothing is kept any more.
   *
   * @param eventId id of the last event that was read; empty for the start
   * @param cause error that ended the answer; undefined for a failed connection
   * @param isFirst true if content came since the last call
   * @throws the last refusal, or the last failure of the connection
   */
  rest(eventId: string, cause: unknown, isFirst: boolean): Promise<Response | undefined>;
  /** Stops an answer that is no longer needed, so that it is not billed further. */
  stop(): Promise<void>;
}

/**
 * Largest number of waits without content between them: about half a minute, the length of a tunnel. It counts failed
 * requests and connections without content alike.
 */
const WAITS = 4;
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 30_000;

/** Creates the requests for one kept answer. */
export function createResumption(place: KeptPlace): Resumption {
  const { client, exchange, headers, path, send } = place;
  const { signal, state } = exchange;
  const waits = { clock: pausesOf(client).clockOf(exchange.callId), random: client.random };
  const backoff = createBackoff(waits, {
    limit: WAITS,
    firstMs: FIRST_WAIT_MS,
    longestMs: LONGEST_WAIT_MS,
  });
  let refusals = 0;
  return { rest, stop };

  async function rest(eventId: string, cause: unknown, isFirst: boolean): Promise<Response | undefined> {
    if (!path || !isOfConnection(cause, isFirst)) return undefined;
    if (isFirst) {
      backoff.progress();
      refusals = 0;
    }
    let failure: unknown;
    for (let isAgain = !isFirst; ; isAgain = true) {
      if (isAgain && backoff.failures === WAITS) {
        if (failure === undefined || isAbsent(failure)) return undefined;
        throw failure;
      }
      if (isAgain) await wait(path, failure ?? cause);
      try {
        const response = await request(path, eventId);
        return response.status === 204 ? undefined : response;
      } catch (error) {
        if (isGone(error)) return undefined;
        if (signal.aborted || (isRefusal(error) && ++refusals > 1)) throw error;
        failure = error;
      }
    }
  }

  function wait(path: string, cause: unknown): Promise<void> {
    const { callId, kind, model } = exchange;
    return backoff.wait(cause, {
      signal,
      onWait({ delayMs, failures: attempt }) {
        const error = cause instanceof Error ? cause : new Error("the connection failed");
        client.emit({ type: "retry", callId, kind, model, path, attempt, delayMs, error });
      },
    });
  }

  /** Sends one request, with the headers that the app has now. Silence ends it, and not the answer. */
  async function request(path: string, eventId: string): Promise<Response> {
    const attempt = new AbortController();
    const abort = (reason: unknown) => attempt.abort(reason);
    if (signal.aborted) abort(signal.reason);
    signal.addEventListener("abort", () => abort(signal.reason));
    const behind = new Headers(headers);
    if (eventId !== "") behind.set("last-event-id", eventId);
    const own: Exchange = {
      ...exchange,
      path,
      signal: attempt.signal,
      abort,
      headersMs: Math.min(exchange.headersMs, exchange.chunkMs),
      retry: { ...exchange.retry, limit: 0 },
      // the gateway has answered, also if this request fails
      state: { outcome: "unknown" },
    };
    const response = await send(client, own, { method: "get", headers: behind, repeat: "any" });
    const { status } = response;
    state.outcome = "unknown";
    if (status === 204 || response.headers.get("content-type")?.startsWith("text/event-stream"))
      return response;
    // a page or a JSON error with status 200, as of a network that wants a sign-in
    throw await errorOf(response, client, signal);
  }

  async function stop(): Promise<void> {
    if (!path) return;
    // the request survives the end of the page
    const init = { method: "DELETE", keepalive: true, ...(headers && { headers }) };
    await requestOnce(client, path, init, ({ body }) => body?.cancel());
  }
}

/** Returns true for an answer of the proxy itself that it keeps no such answer. */
function isGone(error: unknown): boolean {
  const { status, source } = error as Partial<APIError>;
  return status === 404 && source === "proxy";
}

/** Returns true where a server knows no such answer. Another server may have answered, so one of them is not the end. */
function isAbsent(error: unknown): boolean {
  const { status = 0 } = error as Partial<APIError>;
  return status === 404 || status === 410;
}

/** Returns true for a refusal that only other headers, as of a renewed session, can change. */
function isRefusal(error: unknown): boolean {
  const { name, status = 0 } = error as Partial<APIError>;
  return name === "APIError" && (status === 0 || status >= 300) && status < 500 && !PASSING.includes(status);
}

/** Statuses below 500 that may pass by themselves. */
const PASSING: readonly number[] = [404, 408, 410, 425, 429];

/**
 * Returns true for an error of the connection: the answer can continue. A cut that comes again directly after a
 * resumption is an error of the answer.
 */
function isOfConnection(cause: unknown, isFirst: boolean): boolean {
  if (cause === undefined) return true;
  const { reason, apiCode } = cause as Partial<StreamError>;
  const isFirstCut = apiCode === "upstream_cut" && isFirst;
  return reason === "truncated" && (apiCode === undefined || isFirstCut);
}

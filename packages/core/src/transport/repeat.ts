import ky from "ky";
import { createBackoff } from "../base/backoff.js";
import { type Clock, openSpan, unlessAborted } from "../base/clock.js";
import type { APIError, ConnectionError } from "../vocabulary/errors.js";
import type { CallIdentity } from "../vocabulary/events.js";
import type { deliveryOf, isTransient } from "./failure.js";
import { offersIn } from "./offers.js";
import { pausesOf } from "./pauses.js";
import type { Connection } from "./send.js";

export { errorOf } from "./refusal.js";

// nothing here is needed before an attempt has failed, and what every page has loaded is given to it

/** A request whose first attempt has failed. */
export interface Repetition {
  readonly client: {
    readonly clock: Clock;
    readonly listeners: Connection["listeners"];
    readonly random: () => number;
    readonly fetch: typeof globalThis.fetch;
    readonly prepare: (address: string, init: RequestInit) => Parameters<typeof globalThis.fetch>;
  };
  readonly exchange: Pick<CallIdentity, "kind" | "settings"> & {
    readonly callId: string;
    readonly signal: AbortSignal;
    /** Largest number of further attempts, and the longest wait before one, in milliseconds. */
    readonly retry: { readonly limit: number; readonly maxRetryAfterMs: number };
  };
  readonly address: string;
  /** Address at which the proxy tells what it offers. */
  readonly health: string;
  /** Returns the headers of a request to that address. */
  readonly healthHeaders: () => Promise<Headers>;
  readonly init: RequestInit;
  /** True if the request may be repeated after any failure that may pass. */
  readonly isSafe: boolean;
  /** True if the request has an `idempotency-key`. */
  readonly hasKey: boolean;
  readonly isTransient: typeof isTransient;
  readonly deliveryOf: typeof deliveryOf;
  /** Sends the request once; rejects if it failed. */
  readonly attempt: (request: Request) => Promise<Response>;
  /** Returns the headers of the last answer; undefined where none has come. */
  readonly answered: () => Headers | undefined;
  /** Called before each wait. */
  readonly onWait: (delayMs: number, error: Error) => void;
}

/**
 * Repeats a request, each time with a new body, until it succeeds or may not be repeated.
 *
 * @param error failure of the first attempt
 * @throws the failure of the last attempt; the reason of the signal
 */
export async function repeat(error: Error, repetition: Repetition): Promise<Response> {
  const { address, init, exchange, attempt } = repetition;
  const { limit } = exchange.retry;
  const { method = "get", ...others } = init;
  let waits = 0;
  /** True if the proxy, asked at its own address, answers a repeated key from its memory. */
  let isOnce: boolean | undefined;
  if (!(await isRepeated(error))) throw error;
  return ky(address, {
    ...others,
    method,
    timeout: false,
    throwHttpErrors: false,
    fetch: (request) => attempt(request as Request),
    retry: {
      limit: limit - 1,
      methods: [method],
      delay: () => 0,
      shouldRetry: ({ error }) => isRepeated(error),
    },
  });

  async function isRepeated(failure: Error): Promise<boolean> {
    const { signal, retry } = exchange;
    const { retryAfterMs } = failure as Partial<APIError>;
    // the server asks for a longer wait than the caller has
    const isTooLate = (retryAfterMs ?? 0) > retry.maxRetryAfterMs;
    if (signal.aborted || !repetition.isTransient(failure) || isTooLate) return false;
    if (!(repetition.isSafe || isRateLimit(failure)) && !(await isKnownKey(failure))) return false;
    await waitAfter(failure, retryAfterMs);
    return true;
  }

  /** Returns true if the server answers the key of the request from its memory. */
  async function isKnownKey(failure: Error): Promise<boolean> {
    const { hasKey, answered, deliveryOf } = repetition;
    const offer = offerFor(exchange);
    if (!hasKey || !offer || deliveryOf(failure) !== "unknown") return false;
    const headers = answered();
    if (headers) return offersIn(headers)?.includes(offer) ?? false;
    isOnce ??= await isOffered(offer, repetition);
    exchange.signal.throwIfAborted();
    return isOnce;
  }

  async function waitAfter(failure: Error, askedMs: number | undefined): Promise<void> {
    const { client, onWait } = repetition;
    const { callId, signal, retry } = exchange;
    const delayMs = askedMs ?? Math.min(retry.maxRetryAfterMs, client.random() * 500 * 2 ** waits);
    waits += 1;
    onWait(delayMs, failure);
    if (delayMs > 0) await unlessAborted(pausesOf(client).clockOf(callId).sleep(delayMs, signal), signal);
  }
}

/**
 * Adds the likely reason of a failure across origins, which a browser does not report. In a page of this machine, where
 * a developer sees it, `health` is asked twice to be sure.
 */
export async function explain(
  error: ConnectionError,
  address: string,
  health: string | undefined,
): Promise<void> {
  const { origin: page, hostname } = globalThis.location ?? {};
  const { origin } = new URL(address);
  if (error.billing === "none" || !page || origin === page) return;
  const isLocal = /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  if (health !== undefined && isLocal && (await isRefused(health)))
    Object.assign(error, { reason: "origin-refused" });
  error.message += `. From ${page} to ${origin}, CORS may be the reason: list ${page} in the proxy's \`origins\`, and check baseURL`;
}

/** Returns true if a server can be reached, but not by code of this page: without CORS a page may send, and not read. */
async function isRefused(address: string): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ASK_MS);
  const ask = (mode: RequestMode) =>
    fetch(address, { mode, credentials: "omit", signal: late.signal }).then(
      (response) => {
        response.body?.cancel().catch(() => {});
        return true;
      },
      () => false,
    );
  const [isThere, isReadable] = await Promise.all([ask("no-cors"), ask("cors")]);
  clearTimeout(timer);
  return isThere && !isReadable;
}

/** Returns true if the gateway refused for now, and certainly did not act. */
function isRateLimit(error: Error): boolean {
  return error.name === "APIError" && (error as APIError).status === 429;
}

/** Names the offer of a proxy that remembers a request; undefined for a request that no proxy remembers. */
function offerFor({ kind, settings }: Repetition["exchange"]): string | undefined {
  if (kind !== "chat") return "once";
  return settings?.stream ? "chat-once" : undefined;
}

/** Longest first wait for a proxy that can't be reached, in milliseconds. */
const FIRST_WAIT_MS = 1000;
/** Longest time for one answer to the question, in milliseconds: the caller waits for the error of its own request. */
const ASK_MS = 5000;

/**
 * Asks the proxy, after an answer was lost, if it answers a repeated `idempotency-key` from its memory: `once` or
 * `chat-once` among the offers of `GET /health` (docs/spec/once.md). A proxy that stays out of reach offers nothing,
 * because a request that may be billed is not sent again by a guess.
 */
async function isOffered(offer: string, repetition: Repetition): Promise<boolean> {
  const { client, exchange } = repetition;
  const { signal, retry } = exchange;
  const limits = { limit: retry.limit, firstMs: FIRST_WAIT_MS, longestMs: retry.maxRetryAfterMs };
  const backoff = createBackoff(client, limits);
  for (;;) {
    const offers = await offersOf(repetition).catch(() => undefined);
    if (offers) return offers.includes(offer);
    try {
      await backoff.wait(undefined, { signal });
    } catch {
      return false;
    }
  }
}

/** Asks the proxy how it is; its answer names its offers. Throws where it can't tell now. */
async function offersOf({
  client,
  exchange,
  health,
  healthHeaders,
  init: { credentials },
}: Repetition): Promise<readonly string[]> {
  const { signal, end } = openSpan(client.clock, exchange.signal, ASK_MS, () => new Error("late"));
  try {
    const { status, headers, body } = await unlessAborted(ask(), signal);
    body?.cancel().catch(() => {});
    const offers = offersIn(headers);
    if (!offers && (status === 408 || status === 429 || status >= 500)) throw new Error("unavailable");
    return offers ?? [];
  } finally {
    end();
  }

  async function ask(): Promise<Response> {
    const headers = await healthHeaders();
    const own: RequestInit = { headers, signal, redirect: "manual", ...(credentials && { credentials }) };
    return client.fetch(...client.prepare(health, own));
  }
}

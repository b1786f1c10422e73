import ky from "ky";
import type { openSpan, rejectOnAbort } from "../base/clock.js";
import type { APIError, ConnectionError, Delivery, setDelivery } from "../vocabulary/errors.js";
import type { CallIdentity } from "../vocabulary/events.js";
import { isTransient } from "./is-transient.js";
import { parseOffers } from "./offers.js";
import { getPauses } from "./pauses.js";
import type { resolveAddress } from "./resolve-address.js";
import type { Connection, Exchange, Outgoing } from "./send.js";

export { describeRefusal } from "./describe-refusal.js";
export { describeResponse } from "./describe-response.js";
export { requestOnce } from "./request-once.js";

// Loaded after the first failed attempt. The caller passes the functions that it shares with this code: a module that
// many later files import is split from the first file by bundlers.

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** A request after its first failed attempt. */
export interface Repetition {
  readonly client: Pick<
    Connection,
    "baseURL" | "clock" | "listeners" | "random" | "fetch" | "prepare" | "headers" | "emit" | "billsChatsOnce"
  >;
  readonly exchange: CallIdentity & Pick<Exchange, "signal" | "retry" | "state">;
  readonly init: RequestInit & { readonly headers: Headers };
  readonly rule: Outgoing["repeat"];
  /** Sends the request once and records in the exchange's state how far it got. Rejects if it failed. */
  readonly attempt: (request: Request) => Promise<Response>;
  readonly openSpan: typeof openSpan;
  readonly rejectOnAbort: typeof rejectOnAbort;
  readonly resolveAddress: typeof resolveAddress;
  readonly setDelivery: typeof setDelivery;
}

/**
 * Repeats a request, each time with a new body, until it succeeds or must not be repeated.
 *
 * @param error failure of the first attempt
 * @throws the failure of the last attempt; the reason of the signal
 */
export async function repeat(error: Error, repetition: Repetition): Promise<Response> {
  const { client, init, exchange, attempt, rule, resolveAddress, rejectOnAbort, setDelivery } = repetition;
  const { limit } = exchange.retry;
  const { method = "get", ...others } = init;
  const isChat = method === "post" && exchange.kind === "chat";
  /** True if the request may be repeated after any temporary failure. */
  const isSafe = rule === "any" && !(isChat && client.billsChatsOnce);
  let waits = 0;
  /** True if the proxy's health endpoint says that it replays responses by idempotency key. */
  let isOnce: boolean | undefined;
  if (!(await isRepeated(error))) throw error;
  return ky(resolveAddress(client, exchange.path), {
    ...others,
    method,
    timeout: false,
    throwHttpErrors: false,
    fetch: (request) => attemptAgain(request as Request),
    retry: {
      limit: limit - 1,
      methods: [method],
      delay: () => 0,
      shouldRetry: ({ error }) => isRepeated(error),
    },
  });

  async function attemptAgain(request: Request): Promise<Response> {
    const { state } = exchange;
    // an earlier attempt may have had an effect, even if this one fails safely
    const before = state.delivery;
    try {
      return await attempt(request);
    } catch (error) {
      const { delivery } = state;
      state.delivery = mergeDeliveries(before, delivery);
      // this attempt did not connect, but an earlier one may have arrived or was rejected
      if (delivery !== "not-sent" || before === delivery) throw error;
      const failure = error as ConnectionError;
      failure.message = `last attempt: ${failure.message}`;
      throw setDelivery(failure, before);
    }
  }

  async function isRepeated(failure: Error): Promise<boolean> {
    const { signal, retry } = exchange;
    const { retryAfterMs } = failure as Partial<APIError>;
    // the server requests a longer wait than the caller allows
    const isTooLate = (retryAfterMs ?? 0) > retry.maxRetryAfterMs;
    if (signal.aborted || !isTransient(failure) || isTooLate) return false;
    if (!(isSafe || isRateLimit(failure)) && !(await isKnownKey())) return false;
    await waitBeforeRetry(failure, retryAfterMs);
    return true;
  }

  /** Returns true if the server replays the response to a repeated key. */
  async function isKnownKey(): Promise<boolean> {
    const offer = findNeededOffer(exchange);
    if (!init.headers.has("idempotency-key") || !offer || exchange.state.delivery !== "unknown") return false;
    const { headers } = exchange.state;
    if (headers) return parseOffers(headers)?.includes(offer) ?? false;
    isOnce ??= await isOffered(offer, repetition);
    exchange.signal.throwIfAborted();
    return isOnce;
  }

  async function waitBeforeRetry(failure: Error, askedMs: number | undefined): Promise<void> {
    const { callId, kind, model, path, settings, signal, retry } = exchange;
    const delayMs = askedMs ?? Math.min(retry.maxRetryAfterMs, client.random() * 500 * 2 ** waits);
    waits += 1;
    // one wait per failed and repeated attempt
    const step = { type: "retry", attempt: waits, delayMs, error: failure } as const;
    client.emit({ callId, kind, model, path, settings, ...step });
    if (delayMs > 0) await rejectOnAbort(getPauses(client).clock(callId).sleep(delayMs, signal), signal);
  }
}

/**
 * Adds CORS advice to a failure across origins, because browsers do not report the reason. On a local page in
 * development, two requests to the server confirm the reason.
 */
export async function explain(
  error: ConnectionError,
  client: Pick<Connection, "baseURL" | "hasOwnFetch">,
  resolve: typeof resolveAddress,
): Promise<void> {
  const { origin: page, hostname } = globalThis.location ?? {};
  const health = resolve(client, HEALTH_PATH);
  const { origin } = new URL(health);
  if (error.billing === "none" || !page || origin === page) return;
  try {
    // a custom `fetch` may reach another server than the platform's `fetch`
    if (process.env.NODE_ENV !== "production" && !client.hasOwnFetch && LOCAL.test(hostname))
      if (await isOriginRefused(health)) Object.assign(error, { reason: "origin-refused" });
  } catch {
    // a page without a bundler lacks `process`
  }
  error.message += `. From ${page} to ${origin}, CORS may be the reason: list ${page} in the proxy's \`origins\`, and check baseURL`;
}

const LOCAL = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/**
 * Returns true if a server is reachable but rejects the page's origin: without CORS, a page may send requests but not
 * read responses.
 */
async function isOriginRefused(address: string): Promise<boolean> {
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

/**
 * Merges the deliveries of two attempts. `refused` means that an attempt arrived, and only `unknown` that it may be
 * billed.
 */
function mergeDeliveries(one: Delivery, other: Delivery): Delivery {
  return one === "not-sent" || other === "unknown" ? other : one;
}

/** Returns true if the gateway rejected the request for now and certainly did not act. */
function isRateLimit(error: Error): boolean {
  return error.name === "APIError" && (error as APIError).status === 429;
}

/** Finds the offer of a proxy that can replay the response to a request; undefined if no proxy can. */
function findNeededOffer({ kind, settings }: Repetition["exchange"]): string | undefined {
  if (kind !== "chat") return "once";
  return settings?.stream ? "chat-once" : undefined;
}

/** Path of the proxy's health endpoint, which lists its offers. */
const HEALTH_PATH = "/health";
/** Longest first wait for an unavailable proxy, in milliseconds. */
const FIRST_WAIT_MS = 1000;
/** Limit of one health request, in milliseconds: the caller still waits for the error of its request. */
const ASK_MS = 5000;

/**
 * Checks after a lost response if the proxy replays it for a repeated `idempotency-key`: `once` or `chat-once` among
 * the offers of `GET /health` (wire, 6.2). Returns false for an unreachable proxy, because a billed request
 * must not be repeated on a guess.
 */
async function isOffered(offer: string, repetition: Repetition): Promise<boolean> {
  const { client, exchange, rejectOnAbort } = repetition;
  const { signal, retry } = exchange;
  for (let waits = 0; ; waits += 1) {
    const offers = await fetchOffers(repetition).catch(() => undefined);
    if (offers || waits >= retry.limit || signal.aborted) return offers?.includes(offer) ?? false;
    const delayMs = Math.min(retry.maxRetryAfterMs, (0.5 + client.random() / 2) * FIRST_WAIT_MS * 2 ** waits);
    await rejectOnAbort(client.clock.sleep(delayMs, signal), signal).catch(() => {});
  }
}

/** Fetches the offers from the health endpoint. Throws if the proxy is unavailable. */
async function fetchOffers({
  client,
  exchange,
  init: { credentials },
  openSpan,
  rejectOnAbort,
  resolveAddress,
}: Repetition): Promise<readonly string[]> {
  const { callId, kind, model, settings } = exchange;
  const { signal, end } = openSpan(client.clock, exchange.signal, ASK_MS, () => new Error("late"));
  try {
    const { status, headers, body } = await rejectOnAbort(ask(), signal);
    body?.cancel().catch(() => {});
    const offers = parseOffers(headers);
    if (!offers && (status === 408 || status === 429 || status >= 500)) throw new Error("unavailable");
    return offers ?? [];
  } finally {
    end();
  }

  async function ask(): Promise<Response> {
    const headers = await client.headers({ callId, kind, model, path: HEALTH_PATH, settings });
    const own: RequestInit = { headers, signal, redirect: "manual", ...(credentials && { credentials }) };
    return client.fetch(...client.prepare(resolveAddress(client, HEALTH_PATH), own));
  }
}

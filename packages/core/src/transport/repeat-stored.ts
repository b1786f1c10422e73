import { openSpan, rejectOnAbort } from "../base/clock.js";
import type { APIError } from "../types/errors.js";
import { fetchFeatures, parseFeatures } from "./fetch-features.js";
import { type Connection, type Exchange, pickIdentity } from "./send.js";

/** A request after a temporary failure. */
interface FailedRequest {
  /** The client that sent it. */
  readonly client: Connection;
  /** Its call. */
  readonly exchange: Exchange;
  /** Its settings. */
  readonly init: {
    /** Its headers, with the `idempotency-key` if it has one. */
    readonly headers: Headers;
  };
}

/** Decides if a request that may be billed is repeated after a temporary failure. */
export type RepeatRule = (failure: Error, request: FailedRequest) => Promise<boolean>;

/** Longest first wait for an unavailable proxy, in milliseconds. */
const FIRST_WAIT_MS = 1000;
/** Limit of one request for the features, in milliseconds: the caller still waits for the error of its request. */
const FEATURES_MS = 5000;

/**
 * Repeats a request only if that cannot bill twice: after a 429, or if the proxy replays the stored response to the same
 * `idempotency-key`.
 */
export const repeatIfStored: RepeatRule = async (failure, { client, exchange, init }) => {
  if (failure.name === "APIError" && (failure as APIError).status === 429) return true;
  const { kind, settings, signal, state } = exchange;
  // a chat without streaming is not stored
  const feature = kind !== "chat" ? "idempotency" : settings?.stream ? "resumable-streams" : undefined;
  if (!init.headers.has("idempotency-key") || !feature || state.delivery !== "unknown") return false;
  if (state.headers) return parseFeatures(state.headers)?.includes(feature) ?? false;
  state.features ??= await waitForFeatures(client, exchange);
  signal.throwIfAborted();
  return state.features.includes(feature);
};

/**
 * Returns a client whose chats are billed at most once, for a bridge whose users do not expect a second bill. It repeats
 * a chat after a 429, and after other failures only if the proxy stores the response.
 *
 * @example
 * ```ts
 * const stream = streamChat(billOnce(client), { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] });
 * ```
 */
export function billOnce<Given extends Connection>(client: Given): Given {
  return { ...client, repeatsChats: repeatIfStored };
}

/**
 * Fetches the features of the proxy after a lost response (wire.md, 6.2). Returns none for an unreachable proxy, because a
 * billed request must not be repeated on a guess.
 */
async function waitForFeatures(client: Connection, exchange: Exchange): Promise<readonly string[]> {
  const { signal, retry } = exchange;
  // the app's headers depend on the call
  const named: Connection = {
    ...client,
    headers: (request) => client.headers({ ...pickIdentity(exchange), ...request }),
  };
  for (let waits = 0; ; waits += 1) {
    const span = openSpan(client.clock, signal, FEATURES_MS, () => new Error("late"));
    const features = await fetchFeatures(named, span.signal).catch(() => undefined);
    span.end();
    if (features || waits >= retry.limit || signal.aborted) return features ?? [];
    const delayMs = Math.min(retry.maxRetryAfterMs, (0.5 + client.random() / 2) * FIRST_WAIT_MS * 2 ** waits);
    await rejectOnAbort(client.clock.sleep(delayMs, signal), signal).catch(() => {});
  }
}

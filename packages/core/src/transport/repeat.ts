import ky from "ky";
import { rejectOnAbort } from "../base/clock.js";
import { type APIError, type ConnectionError, type Delivery, setDelivery } from "../types/errors.js";
import { isTransient } from "./failure.js";
import { createRetryClock } from "./pauses.js";
import type { RepeatRule } from "./repeat-stored.js";
import { resolveAddress } from "./resolve-address.js";
import { type Connection, type Exchange, emitStep } from "./send.js";

/** A request after its first failed attempt. */
export interface Repetition {
  readonly client: Connection;
  readonly exchange: Exchange;
  readonly init: RequestInit & { readonly headers: Headers };
  /** Decides about a temporary failure; undefined to repeat the request after all of them. */
  readonly rule: RepeatRule | undefined;
  /** Sends the request once and records in the exchange's state how far it got. Rejects if it failed. */
  readonly attempt: (request: Request) => Promise<Response>;
}

/**
 * Repeats a request, each time with a new body, until it succeeds or must not be repeated.
 *
 * @param error failure of the first attempt
 * @throws the failure of the last attempt; the reason of the signal
 */
export async function repeat(error: Error, repetition: Repetition): Promise<Response> {
  const { client, init, exchange, attempt, rule } = repetition;
  const { limit } = exchange.retry;
  const { method = "get", ...others } = init;
  let waits = 0;
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
    if (rule && !(await rule(failure, repetition))) return false;
    await waitBeforeRetry(failure, retryAfterMs);
    return true;
  }

  async function waitBeforeRetry(failure: Error, requestedMs: number | undefined): Promise<void> {
    const { callId, signal, retry } = exchange;
    const delayMs = requestedMs ?? Math.min(retry.maxRetryAfterMs, client.random() * 500 * 2 ** waits);
    waits += 1;
    // one wait per failed and repeated attempt
    emitStep(client, exchange, { type: "retry", attempt: waits, delayMs, error: failure });
    if (delayMs > 0) await rejectOnAbort(createRetryClock(client, callId).sleep(delayMs, signal), signal);
  }
}

/**
 * Merges the deliveries of two attempts. `refused` means that an attempt arrived, and only `unknown` that it may be
 * billed.
 */
function mergeDeliveries(one: Delivery, other: Delivery): Delivery {
  return one === "not-sent" || other === "unknown" ? other : one;
}

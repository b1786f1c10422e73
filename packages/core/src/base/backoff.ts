import { type Clock, rejectOnAbort } from "./clock.js";

/** Limits of a {@link Backoff}. */
export interface BackoffLimits {
  /** Number of waits in a row without progress. 0: the first failure is the end. */
  readonly limit: number;
  /** Longest first wait in milliseconds. Each further wait may be twice as long. */
  readonly firstMs: number;
  /** Longest wait in milliseconds, also where `Retry-After` is longer. */
  readonly longestMs: number;
}

/** Options of one wait. */
export interface BackoffWait {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the wait. */
  readonly onWait?: ((wait: { readonly delayMs: number; readonly failures: number }) => void) | undefined;
}

/** Waits between the attempts at one thing, and their end. */
export interface Backoff {
  /** Number of failures in a row without progress. */
  readonly failures: number;
  /** Notes progress: the failures before it no longer count. An answer alone is no progress. */
  reset(): void;
  /**
   * Waits before the next attempt: exponentially longer, with jitter, and as long as the `retryAfterMs` of `cause` asks,
   * but never longer than `longestMs`.
   *
   * @param cause the failure of the last attempt
   * @throws `cause` after `limit` waits in a row without progress; the reason of the signal, at once
   */
  wait(cause: unknown, options?: BackoffWait): Promise<void>;
}

/**
 * Creates the waits between the attempts at one thing. Attempts without progress are counted, not errors: a peer that
 * answers for ever, and never moves, also comes to an end.
 */
export function createBackoff(
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
  { limit, firstMs, longestMs }: BackoffLimits,
): Backoff {
  let failures = 0;
  return {
    get failures() {
      return failures;
    },
    reset() {
      failures = 0;
    },
    async wait(cause, { signal, onWait } = {}) {
      signal?.throwIfAborted();
      if (failures >= limit) throw cause;
      failures += 1;
      const delayMs = computeDelay(failures, cause);
      onWait?.({ delayMs, failures });
      await rejectOnAbort(clock.sleep(delayMs, signal), signal);
    },
  };

  /** At least half of the exponential wait: a `Retry-After: 0` must not start a storm of requests. */
  function computeDelay(nth: number, cause: unknown): number {
    const askedMs = (cause as { readonly retryAfterMs?: number } | undefined)?.retryAfterMs ?? 0;
    const ownMs = (0.5 + random() / 2) * firstMs * 2 ** (nth - 1);
    return Math.min(longestMs, Math.max(ownMs, askedMs));
  }
}

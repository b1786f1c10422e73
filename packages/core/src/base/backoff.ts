import { type Clock, rejectOnAbort } from "./clock.js";

/** Limits of a {@link Backoff}. */
export interface BackoffLimits {
  /** Largest number of waits in a row without progress. 0: the first failure is final. */
  readonly limit: number;
  /** Longest first wait in milliseconds. Each further wait may be twice as long. */
  readonly firstMs: number;
  /** Longest wait in milliseconds. It also caps `Retry-After`. */
  readonly longestMs: number;
}

/** Options of one wait. */
export interface BackoffWait {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the wait. */
  readonly onWait?:
    | ((wait: {
        /** Length of the wait in milliseconds. */
        readonly delayMs: number;
        /** Number of failures in a row without progress. */
        readonly failures: number;
      }) => void)
    | undefined;
}

/** Waits between attempts, up to a limit. */
export interface Backoff {
  /** Number of failures in a row without progress. */
  readonly failures: number;
  /** Resets the failures after progress. A response alone does not count as progress. */
  reset(): void;
  /**
   * Waits before the next attempt: exponentially longer, with jitter. The wait is at least the `retryAfterMs` of
   * `cause` and at most `longestMs`.
   *
   * @param cause the failure of the last attempt
   * @throws `cause` after `limit` waits in a row without progress; the signal's reason as soon as it aborts
   */
  wait(cause: unknown, options?: BackoffWait): Promise<void>;
}

/**
 * Creates a backoff. It counts attempts without progress, not errors. So it also ends if a server responds forever
 * without new data.
 *
 * @example
 * ```ts
 * const backoff = createBackoff(client, { limit: 5, firstMs: 1000, longestMs: 30_000 });
 * for (;;)
 *   try {
 *     await storage.write("notes", new Map([["a", { text: "Hello" }]]));
 *     break;
 *   } catch (error) {
 *     await backoff.wait(error, { signal });
 *   }
 * ```
 */
export function createBackoff(
  {
    clock,
    random,
  }: {
    /** Clock of the waits. */
    readonly clock: Clock;
    /** Returns numbers from 0 (included) to 1 (excluded) for the jitter. */
    readonly random: () => number;
  },
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

  /** Waits at least half of the exponential delay, so that `Retry-After: 0` does not cause a storm of requests. */
  function computeDelay(nth: number, cause: unknown): number {
    const requestedMs = (cause as { readonly retryAfterMs?: number } | undefined)?.retryAfterMs ?? 0;
    const ownMs = (0.5 + random() / 2) * firstMs * 2 ** (nth - 1);
    return Math.min(longestMs, Math.max(ownMs, requestedMs));
  }
}

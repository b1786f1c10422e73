import { createBackoff, toIdleClock } from "@sluice/core/extend";

/** Repeats `read` after growing waits, until it succeeds or `signal` aborts. Never rejects. */
export async function readLater(
  client: Parameters<typeof createStorageBackoff>[0],
  read: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<unknown> {
  const backoff = createStorageBackoff(client);
  for (;;)
    try {
      await backoff.wait(undefined, { signal });
      return await read();
    } catch {
      if (signal?.aborted) return;
    }
}

/** Waits between attempts, up to a limit. */
export type Backoff = ReturnType<typeof createBackoff>;

/** Creates the waits between attempts at a failing storage: from 1 s to 60 s, without a limit. */
export function createStorageBackoff({ clock, random }: Parameters<typeof createBackoff>[0]): Backoff {
  // an idle clock lets a script with a broken storage exit
  const waits = { clock: toIdleClock(clock), random };
  return createBackoff(waits, { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 });
}

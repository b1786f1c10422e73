import { type Backoff, createBackoff } from "../base/backoff.js";
import { idle } from "../base/clock.js";

/** The fields of a client that the waits for a storage use: its clock, and its random numbers. */
type WaitingClient = Parameters<typeof createBackoff>[0];

/** Creates the waits between attempts at a storage that fails: from 1 s to 60 s, without an end. */
export function storageBackoff({ clock, random }: WaitingClient): Backoff {
  // a script whose storage is broken ends all the same
  const waits = { clock: idle(clock), random };
  return createBackoff(waits, { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 });
}

/** Repeats `read`, with growing waits before each attempt, until it does not reject or `signal` aborts. Never rejects. */
export async function readLater(
  client: WaitingClient,
  read: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<unknown> {
  const backoff = storageBackoff(client);
  for (;;)
    try {
      await backoff.wait(undefined, { signal });
      return await read();
    } catch {
      if (signal?.aborted) return;
    }
}

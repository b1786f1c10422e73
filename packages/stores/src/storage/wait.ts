import type { Client, Clock } from "@sluice/core";
import { awaitWithin, createBackoff, toIdleClock } from "@sluice/core/extend";

/** Maximum time to wait for a storage, in milliseconds. */
const WAIT_MS = 3000;

/**
 * Waits at most 3 s for a read or write of a storage, because a storage such as a blocked IndexedDB may never settle.
 *
 * @param onLate gets a result that arrives later
 * @throws a `DOMException` named `TimeoutError`; the error of `operation`
 * @example
 * ```ts
 * const records = await waitForStorage(client.clock, () => storage.read("notes"));
 * ```
 */
export async function waitForStorage<T>(
  clock: Clock,
  operation: () => Promise<T>,
  onLate: (result: T) => void = () => {},
): Promise<T> {
  const result = (async () => operation())();
  try {
    return await awaitWithin(clock, WAIT_MS, result, "the storage");
  } catch (error) {
    // the result may be there already: a frozen page gets the timeout and the result together
    result.then(onLate, () => {});
    throw error;
  }
}

/** The fields of a client that waits for a storage need: `random` is for the jitter of the waits. */
export type WaitingClient = Pick<Client, "clock" | "random">;

/**
 * Reads a storage and waits for at most 3 s. `take` also gets records that arrive later, because the storage may be slow,
 * or fail at first and recover.
 *
 * @param onFailure gets the error of the first attempt, or a `TimeoutError`
 * @param signal ends the attempts
 */
export async function readWhenPossible<Records>(
  client: WaitingClient,
  read: () => Promise<Records>,
  onRecords: (records: Records) => unknown,
  onFailure: (error: unknown) => void,
  signal?: AbortSignal,
): Promise<void> {
  const records = (async () => read())();
  const handled = records.then(onRecords);
  // retries even if the read fails after the wait, because a stalled storage may recover
  handled.catch(() => void readLater(client, async () => onRecords(await read()), signal));
  await awaitWithin(client.clock, WAIT_MS, records, "the storage")
    .then(() => handled)
    .catch(onFailure);
}

/** Repeats `read` after growing waits, until it succeeds or `signal` aborts. Never rejects. */
async function readLater(
  client: WaitingClient,
  read: () => Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const backoff = createStorageBackoff(client);
  for (;;)
    try {
      await backoff.wait(undefined, { signal });
      await read();
      return;
    } catch {
      if (signal?.aborted) return;
    }
}

/** Creates the waits between attempts at a failing storage: from 1 s to 60 s, without a limit. */
export function createStorageBackoff({ clock, random }: WaitingClient): ReturnType<typeof createBackoff> {
  // an idle clock lets a script with a broken storage exit
  const waits = { clock: toIdleClock(clock), random };
  return createBackoff(waits, { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 });
}

import type { Clock } from "@sluice/core";
import { awaitWithin } from "@sluice/core/internal";

/** Longest time that work waits for a storage, in milliseconds. */
const WAIT_MS = 3000;

/**
 * Waits at most 3 s for a storage to read or write: a storage may never answer, such as a blocked IndexedDB.
 *
 * @param onLate gets an answer that comes later
 * @throws a `DOMException` named `TimeoutError`; the error of `operation`
 */
export async function waitForStorage<T>(
  clock: Clock,
  operation: () => Promise<T>,
  onLate: (answer: T) => void = () => {},
): Promise<T> {
  const answer = (async () => operation())();
  try {
    return await awaitWithin(clock, WAIT_MS, answer, "the storage");
  } catch (error) {
    // it may have come by now: a page that was frozen gets the end of the wait and the answer together
    answer.then(onLate, () => {});
    throw error;
  }
}

/** The fields of a client that the waits for a storage use. */
export interface WaitingClient {
  /** Clock of the waits. */
  readonly clock: Clock;
  /** Returns numbers from 0 up to, but not including, 1, for the jitter of waits. */
  readonly random: () => number;
}

/**
 * Reads a storage for at most 3 s. `take` gets the records, also those that come later: the storage may be late, or fail at
 * first and work again.
 *
 * @param onFailure gets the error of the first attempt, or a `TimeoutError`
 */
export async function readWhenPossible<Records>(
  client: WaitingClient,
  read: () => Promise<Records>,
  take: (records: Records) => unknown,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const answer = (async () => read())();
  const taken = answer.then(take);
  const again = async () => take(await read());
  // also where it fails after the wait: a storage that hung may work the next time
  taken.catch(() =>
    import("./recovery.js").then(({ readLater }) => readLater(client, again)).catch(onFailure),
  );
  await awaitWithin(client.clock, WAIT_MS, answer, "the storage")
    .then(() => taken)
    .catch(onFailure);
}

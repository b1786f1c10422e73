import { type Clock, within } from "../base/clock.js";

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
  let isLate = false;
  const answer = (async () => operation())();
  answer.then(
    (late) => {
      if (isLate) onLate(late);
    },
    () => {},
  );
  try {
    return await within(clock, WAIT_MS, answer, "the storage");
  } catch (error) {
    isLate = true;
    throw error;
  }
}

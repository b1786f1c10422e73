import { tooMany } from "../refusal.js";

/** Counts a stream of a user. The returned function gives the count back. */
export type CountStream = (userId: string) => () => void;

/**
 * Creates a bound on the streams that one user has open at a time, in this isolate. Each location and each isolate
 * counts for itself. A count that is never given back ends after `longestMs`, which no stream outlives.
 *
 * @throws {Refusal} the function: 429 `too_many_streams`
 */
export function createStreamCount(most: number, longestMs: number): CountStream {
  const open = new Map<string, readonly number[]>();
  return (userId) => {
    const now = Date.now();
    const ends = (open.get(userId) ?? []).filter((end) => end > now);
    if (ends.length >= most) throw tooMany("too_many_streams", 1000);
    const end = now + longestMs;
    open.set(userId, [...ends, end]);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const rest = [...(open.get(userId) ?? [])];
      // one end is as good as another of the same time
      const at = rest.indexOf(end);
      if (at !== -1) rest.splice(at, 1);
      if (rest.length > 0) open.set(userId, rest);
      else open.delete(userId);
    };
  };
}

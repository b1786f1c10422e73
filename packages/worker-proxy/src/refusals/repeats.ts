import { logError } from "../base/log-error.js";

/** Time in which equal lines are counted, in milliseconds. */
const MINUTE_MS = 60_000;
/** Most different lines that are written in that time; beyond it, one for each subject. */
const MOST_LINES = 20;

/** Counts the lines of an outage, which are equal but for their requests. */
export function createRepeats() {
  let since = 0;
  const counts = new Map<string, { readonly subject: string; count: number }>();
  return { isRepeated, report };

  /** Counts a line. Returns true for one that was written in this minute. */
  function isRepeated(subject: string, cause: string): boolean {
    report();
    if (counts.size === 0) since = Date.now();
    const line = `${subject}: ${cause}`;
    const key = counts.has(line) || counts.size < MOST_LINES ? line : subject;
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { subject, count: 0 });
    return known !== undefined;
  }

  /** Writes, once a minute is over, how many lines it had that were not written. */
  function report(): void {
    const seconds = Math.round((Date.now() - since) / 1000);
    if (seconds < MINUTE_MS / 1000 || counts.size === 0) return;
    const more = new Map<string, number>();
    for (const { subject, count } of counts.values()) more.set(subject, (more.get(subject) ?? 0) + count);
    counts.clear();
    for (const [subject, count] of more)
      if (count > 0) logError(`${subject}: ${count} more in the ${seconds} s before`);
  }
}

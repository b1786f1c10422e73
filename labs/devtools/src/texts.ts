/** Formats a duration: `340 ms`, `1.2 s`. */
export function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Formats a size: `340 B`, `1.2 kB`, `3.4 MB`. */
export function formatBytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Formats a number with its noun: `1 message`, `2 messages`. */
export function formatCount(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Formats the time of day of Unix milliseconds: `13:04:05`. */
export function formatTime(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}

/** Writes a duration: `340 ms`, `1.2 s`. */
export function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Writes a size: `340 B`, `1.2 kB`, `3.4 MB`. */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Writes a number with its word: `1 message`, `2 messages`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Writes the time of day of Unix milliseconds: `13:04:05`. */
export function time(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}

/**
 * Returns the first `max` characters of `text` as a new string. A slice would retain the whole text in memory.
 */
export function cut(text: string, max: number): string {
  // a character has at most two code units
  return [...text.slice(0, 2 * max)].slice(0, max).join("");
}

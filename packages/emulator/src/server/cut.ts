/**
 * Returns the first `most` characters of `text` as a new string. A slice would keep the whole of `text` in memory.
 */
export function cut(text: string, most: number): string {
  // a character may have two code units
  return [...text.slice(0, 2 * most)].slice(0, most).join("");
}

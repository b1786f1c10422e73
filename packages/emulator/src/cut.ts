/**
 * The first `most` characters of `text`, as a text of their own: engines keep the whole of it in memory for as long as
 * a mere slice is kept.
 */
export function cut(text: string, most: number): string {
  // a character may be two units long
  return [...text.slice(0, 2 * most)].slice(0, most).join("");
}

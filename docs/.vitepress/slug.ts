/** Anchor of a heading: the same as on GitHub, so that a link works in both places. */
export function createSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replace(/ /g, "-");
}

/**
 * Finds the entry of `known` that `given` probably means. It has the same letters and digits in another case or with
 * other separators (`maxTokens` for `max_tokens`), or at most a third of the characters differ.
 */
export function findNearest(given: string, known: readonly string[]): string | undefined {
  const typed = normalizeName(given);
  let found: string | undefined;
  let minEdits = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const letters = normalizeName(name);
    const maxEdits = Math.min(minEdits - 1, Math.ceil(letters.length / 3));
    // the edit distance is at least the difference in length
    if (Math.abs(letters.length - typed.length) > maxEdits) continue;
    const edits = countEdits(typed, letters);
    if (edits > maxEdits) continue;
    found = name;
    minEdits = edits;
  }
  return found;
}

/**
 * Returns a suffix for a message that suggests an entry of `known`; empty if none is similar.
 *
 * @example
 * ```ts
 * throw new Error(`There is no command vidoe${formatSuggestion("vidoe", ["chat", "image", "video"])}`);
 * ```
 */
export function formatSuggestion(given: string, known: readonly string[]): string {
  const name = findNearest(given, known);
  return name === undefined ? "" : `; did you mean \`${name}\`?`;
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[\W_]/g, "");
}

/** Computes the Levenshtein distance, row by row. */
function countEdits(from: string, to: string): number {
  let row = [...Array(to.length + 1).keys()];
  for (const [index, character] of [...from].entries()) {
    const above = row;
    let left = index + 1;
    row = above.map((straight, column) => {
      const diagonal = (above[column - 1] ?? Infinity) - Number(to[column - 1] === character);
      if (column > 0) left = Math.min(left, straight, diagonal) + 1;
      return left;
    });
  }
  return row[to.length] as number;
}

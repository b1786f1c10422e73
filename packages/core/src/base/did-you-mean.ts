/**
 * Finds the entry of `known` that `given` was probably meant to be. It has the same letters and digits in another case
 * or with other separators (`maxTokens` for `max_tokens`), or at most a third of them differ.
 */
export function findNearest(given: string, known: readonly string[]): string | undefined {
  const typed = normalizeName(given);
  let found: string | undefined;
  let minEdits = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const letters = normalizeName(name);
    const maxEdits = Math.min(minEdits - 1, Math.ceil(letters.length / 3));
    // the distance is at least the difference of the lengths
    if (Math.abs(letters.length - typed.length) > maxEdits) continue;
    const edits = countEdits(typed, letters);
    if (edits > maxEdits) continue;
    found = name;
    minEdits = edits;
  }
  return found;
}

/** Text for the end of a message: names the {@link findNearest} of `known`. Empty if none is near. */
export function formatSuggestion(given: string, known: readonly string[]): string {
  const name = findNearest(given, known);
  return name === undefined ? "" : `; did you mean \`${name}\`?`;
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[\W_]/g, "");
}

/** Levenshtein distance, computed row by row. */
function countEdits(from: string, to: string): number {
  let row = [...Array(to.length + 1).keys()];
  for (const [index, letter] of [...from].entries()) {
    const above = row;
    let left = index + 1;
    row = above.map((straight, column) => {
      const diagonal = (above[column - 1] ?? Infinity) - Number(to[column - 1] === letter);
      if (column > 0) left = Math.min(left, straight, diagonal) + 1;
      return left;
    });
  }
  return row[to.length] as number;
}

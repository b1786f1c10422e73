/**
 * Finds the entry of `known` that `given` probably means. Case and separators are ignored (`maxTokens` for `max_tokens`),
 * and at most a third of the letters and digits differ.
 */
export function findNearest(given: string, known: readonly string[]): string | undefined {
  const typed = normalizeName(given);
  let nearest: string | undefined;
  let minEdits = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const candidate = normalizeName(name);
    const maxEdits = Math.min(minEdits - 1, Math.ceil(candidate.length / 3));
    // the edit distance is at least the difference in length
    if (Math.abs(candidate.length - typed.length) > maxEdits) continue;
    const edits = countEdits(typed, candidate);
    if (edits > maxEdits) continue;
    nearest = name;
    minEdits = edits;
  }
  return nearest;
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

/** Computes the Levenshtein distance. `row` has the distances from the read part of `from` to each start of `to`. */
function countEdits(from: string, to: string): number {
  let row = [...Array(to.length + 1).keys()];
  for (const [index, character] of [...from].entries()) {
    let edits = index + 1;
    row = row.map((deleted, column) => {
      if (column === 0) return edits;
      const inserted = edits;
      const replaced = (row[column - 1] as number) - Number(to[column - 1] === character);
      edits = Math.min(inserted, deleted, replaced) + 1;
      return edits;
    });
  }
  return row[to.length] as number;
}

/** Breaks a text between its words. Each line begins with `indent`. Cuts a word that is longer than a line. */
export function wrap(text: string, width: number, indent = ""): string[] {
  const contentWidth = width - indent.length;
  const lines: string[] = [];
  for (const word of text
    .split(" ")
    .flatMap((longWord) => longWord.match(new RegExp(`.{1,${contentWidth}}`, "g")) ?? [])) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > contentWidth) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => indent + line);
}

/** Terms with their meanings. */
export type Rows = readonly (readonly [term: string, meaning: string])[];

const MIN_MEANING_WIDTH = 30;

/** Formats rows in two columns, or each meaning below its term where a column would be narrow. */
export function formatRows(rows: Rows, width: number): string {
  const column = Math.max(...rows.map(([term]) => term.length)) + 4;
  const lines = rows.flatMap(([term, meaning]) => {
    if (width - column < MIN_MEANING_WIDTH)
      return [...wrap(term, width, "  "), ...wrap(meaning, width, "      ")];
    const [first = "", ...rest] = wrap(meaning, width, " ".repeat(column));
    return [`  ${term}`.padEnd(column) + first.slice(column), ...rest];
  });
  return lines.join("\n");
}

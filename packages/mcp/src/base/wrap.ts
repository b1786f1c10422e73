/** Breaks a text between its words. Each line begins with `indent`. Cuts a word that is longer than a line. */
export function wrap(text: string, width: number, indent = ""): string[] {
  const contentWidth = Math.max(16, width - indent.length);
  const words = text
    .split(/\s+/)
    .flatMap((word) => word.match(new RegExp(`.{1,${contentWidth}}`, "g")) ?? []);
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > contentWidth) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => indent + line);
}

/** Number of unchanged lines to show around a change. */
const CONTEXT_LINES = 2;

/** Formats the difference of two texts as lines that begin with `+`, `-` or a space. Omits distant unchanged lines. */
export function formatDiff(before: string, after: string): string {
  const lines = listChanges(before.trimEnd().split("\n"), after.trimEnd().split("\n"));
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(isChange);
  return lines
    .map((line, index) => {
      if (isNear(index)) return `${line}\n`;
      // one mark for all omitted lines
      return index > 0 && isNear(index - 1) ? "  …\n" : "";
    })
    .join("");
}

function isChange(line: string): boolean {
  return !line.startsWith(" ");
}

/** Lists the lines of both texts, aligned by their longest common subsequence. */
function listChanges(before: readonly string[], after: readonly string[]): string[] {
  // lengths[i][j]: length of the longest common subsequence of `before` from i and `after` from j
  const lengths = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  const getLength = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = lengths[i] as number[];
      row[j] =
        before[i] === after[j]
          ? getLength(i + 1, j + 1) + 1
          : Math.max(getLength(i + 1, j), getLength(i, j + 1));
    }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length)
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push(`  ${before[i]}`);
      [i, j] = [i + 1, j + 1];
    } else if (j === after.length || (i < before.length && getLength(i + 1, j) >= getLength(i, j + 1))) {
      lines.push(`- ${before[i]}`);
      i += 1;
    } else {
      lines.push(`+ ${after[j]}`);
      j += 1;
    }
  return lines;
}

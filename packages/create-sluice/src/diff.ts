/** Lines that stand around a change, so that a reader sees where it is. */
const AROUND = 2;

/** Writes the difference of two texts as lines that begin with `+`, `-` or a space. Parts without a change are left out. */
export function diffOf(before: string, after: string): string {
  const lines = changesOf(before.trimEnd().split("\n"), after.trimEnd().split("\n"));
  const isNear = (at: number) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(isChange);
  return lines
    .map((line, at) => (isNear(at) ? `${line}\n` : at > 0 && isNear(at - 1) ? "  …\n" : ""))
    .join("");
}

function isChange(line: string): boolean {
  return !line.startsWith(" ");
}

/** The lines of both texts, in the order of the second, by the longest list that both have. */
function changesOf(before: readonly string[], after: readonly string[]): string[] {
  // lengths[i][j]: the longest common list of `before` from i on and of `after` from j on
  const lengths = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  const lengthAt = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const row = lengths[i] as number[];
      row[j] =
        before[i] === after[j]
          ? lengthAt(i + 1, j + 1) + 1
          : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length)
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push(`  ${before[i]}`);
      [i, j] = [i + 1, j + 1];
    } else if (j === after.length || (i < before.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push(`- ${before[i]}`);
      i += 1;
    } else {
      lines.push(`+ ${after[j]}`);
      j += 1;
    }
  return lines;
}

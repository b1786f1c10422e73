import type { FaultCase, FaultOutcome } from "../fault-cases/fault-case.js";

/** Narrowest terminal with two columns. */
const MIN_TWO_COLUMNS = 72;
const INDENT = "  ";

/** Formats the faults by group: name, title and right outcome. No line is longer than `width`, at least 32 characters. */
export function formatFaultTable(cases: readonly FaultCase[], width: number): string {
  const groups = new Map<string, FaultCase[]>();
  for (const fault of cases) groups.set(fault.group, [...(groups.get(fault.group) ?? []), fault]);
  const names = Math.max(0, ...cases.map(({ name }) => name.length));
  const format = width >= MIN_TWO_COLUMNS ? formatBeside : formatBelow;
  const blocks = [...groups].map(([group, faults]) =>
    [...wrap(group, width), ...faults.flatMap((fault) => format(fault, names, width))].join("\n"),
  );
  return blocks.join("\n\n");
}

/** Describes a right outcome, `error (server), billing maybe`. */
function describeOutcome({ outcome, error, billing }: FaultOutcome): string {
  const kind = error === undefined || error === outcome ? "" : ` (${error})`;
  return `${outcome}${kind}${billing === undefined ? "" : `, billing ${billing}`}`;
}

function formatBeside({ name, title, right: [right] }: FaultCase, names: number, width: number): string[] {
  const text = [...wrap(title, width - names - 4), ...describeRight(right, width - names - 4)];
  return text.map((line, at) => `${INDENT}${(at === 0 ? name : "").padEnd(names)}${INDENT}${line}`);
}

function formatBelow({ name, title, right: [right] }: FaultCase, _: number, width: number): string[] {
  const text = [...wrap(title, width - 2), ...describeRight(right, width - 2)];
  return [name, ...text.map((line) => `${INDENT}${line}`)];
}

function describeRight(right: FaultOutcome | undefined, width: number): string[] {
  return right ? wrap(`→ ${describeOutcome(right)}`, width) : [];
}

/** Breaks a text into lines between its words. Cuts a word that is longer than a line. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text
    .split(" ")
    .flatMap((whole) => whole.match(new RegExp(`.{1,${width}}`, "g")) ?? [])) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

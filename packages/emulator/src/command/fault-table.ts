import type { FaultCase, FaultOutcome } from "../fault-cases/fault-case.js";
import { wrap } from "./text.js";

/** Formats the faults by group: name, title and right outcome. No line is longer than `width`, at least 32 characters. */
export function formatFaultTable(cases: readonly FaultCase[], width: number): string {
  const groups = new Map<string, FaultCase[]>();
  for (const fault of cases) groups.set(fault.group, [...(groups.get(fault.group) ?? []), fault]);
  const blocks = [...groups].map(([group, faults]) =>
    [...wrap(group, width), ...faults.flatMap((fault) => formatFault(fault, width))].join("\n"),
  );
  return blocks.join("\n\n");
}

/** Describes a right outcome, `error (server), billing maybe`. */
function describeOutcome({ outcome, error, billing }: FaultOutcome): string {
  const kind = error === undefined || error === outcome ? "" : ` (${error})`;
  return `${outcome}${kind}${billing === undefined ? "" : `, billing ${billing}`}`;
}

function formatFault({ name, title, right: [right] }: FaultCase, width: number): string[] {
  const text = right ? [title, `→ ${describeOutcome(right)}`] : [title];
  return [name, ...text.flatMap((part) => wrap(part, width, "  "))];
}

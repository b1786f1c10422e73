import type { CheckReport } from "./check.js";
import type { Finding } from "./finding.js";

const titles = {
  differs: "Differs from the specification",
  unlisted: "Not listed in the specification",
  shown: "Not shown in the specification; recorded here",
} as const;

const kinds = ["differs", "unlisted", "shown"] as const;

/** Writes a report for the terminal: for each endpoint and model, what differs first. */
export function writeReport({ count, findings }: CheckReport): string {
  const placeOf = ({ endpoint, model }: Finding) => `${endpoint}  ${model}`.trim();
  const parts = [...new Set(findings.map(placeOf))].map((place) => {
    const own = findings.filter((finding) => placeOf(finding) === place);
    return `${place}\n${kinds.map((kind) => section(kind, own)).join("")}`;
  });
  const numberOf = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  const differences = plural(numberOf("differs"), "difference");
  const fields = plural(numberOf("unlisted"), "field");
  const summary = `${plural(count, "recording")}: ${differences} from the specification, ${fields} that it does not list.`;
  return [...parts, summary].join("\n");
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function section(kind: Finding["kind"], findings: readonly Finding[]): string {
  const own = findings.filter((finding) => finding.kind === kind);
  if (own.length === 0) return "";
  // a shape has many lines, and its recordings are the same
  const lines = own.map(
    ({ text, recordings }) => `    ${text}${kind === "shown" ? "" : `  (${listed(recordings)})`}\n`,
  );
  return `  ${titles[kind]}:\n${lines.join("")}`;
}

function listed([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

import type { CheckReport } from "./check.js";
import type { Finding } from "./finding.js";

const titles = {
  differs: "Differs from the specification",
  unlisted: "Not listed in the specification",
  shown: "Not shown in the specification; recorded here",
} as const;

const kinds = ["differs", "unlisted", "shown"] as const;

/** Formats a report for the terminal. For each endpoint and model, differences come first. */
export function formatReport({ count, findings }: CheckReport): string {
  const formatTitle = ({ endpoint, model }: Finding) => `${endpoint}  ${model}`.trim();
  const parts = [...new Set(findings.map(formatTitle))].map((place) => {
    const own = findings.filter((finding) => formatTitle(finding) === place);
    return `${place}\n${kinds.map((kind) => formatSection(kind, own)).join("")}`;
  });
  const countKind = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  const differences = formatCount(countKind("differs"), "difference");
  const fields = formatCount(countKind("unlisted"), "field");
  const summary = `${formatCount(count, "recording")}: ${differences} from the specification, ${fields} that it does not list.`;
  return [...parts, summary].join("\n");
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function formatSection(kind: Finding["kind"], findings: readonly Finding[]): string {
  const own = findings.filter((finding) => finding.kind === kind);
  if (own.length === 0) return "";
  // a shape has many lines, all from the same recordings
  const lines = own.map(
    ({ text, recordings }) => `    ${text}${kind === "shown" ? "" : `  (${formatNames(recordings)})`}\n`,
  );
  return `  ${titles[kind]}:\n${lines.join("")}`;
}

function formatNames([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

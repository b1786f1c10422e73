import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FaultCase, FaultVerdict } from "./reading.ts";
import type { StoredResults } from "./results.ts";

const GUIDE = join(import.meta.dirname, "../../../docs/comparison.md");
const HEADING = "### Results\n";
const OURS = "Sluice";

/** Classes of verdicts, best first. */
const classes: readonly FaultVerdict[] = ["right", "acceptable", "wrong words", "wrong", "hangs"];

/** Returns the guide with the results of the last run. */
export function fillGuide(guide: string, results: StoredResults, faults: readonly FaultCase[]): string {
  const [before = ""] = guide.split(HEADING);
  return `${before}${HEADING}\n${formatResults(results, faults)}\n`;
}

export function readGuide(): string {
  return readFileSync(GUIDE, "utf8");
}

export function writeGuide(guide: string): void {
  writeFileSync(GUIDE, guide);
}

function formatResults(results: StoredResults, faults: readonly FaultCase[]): string {
  const clients = Object.keys(results.versions);
  return [formatCounts(clients, results), formatBetter(clients, results, faults)].join("\n\n");
}

function formatCounts(clients: readonly string[], { versions, verdicts }: StoredResults): string {
  const rows = clients.map((client) => {
    const results = Object.values(verdicts).map((row) => row[client]);
    return [client, versions[client] ?? "", ...[...classes, undefined].map((one) => count(results, one))];
  });
  return formatTable([["client", "versions", ...classes, "not tried"], ...rows]);
}

function count(results: readonly unknown[], verdict: unknown): string {
  return String(results.filter((one) => one === verdict).length);
}

/** Lists the faults with which another client serves its user better than Sluice. */
function formatBetter(
  clients: readonly string[],
  { verdicts }: StoredResults,
  faults: readonly FaultCase[],
): string {
  const rank = (verdict: FaultVerdict | undefined) => (verdict ? classes.indexOf(verdict) : classes.length);
  const better = faults.flatMap(({ name, title }) => {
    const row = verdicts[name] ?? {};
    const ahead = clients.filter((client) => rank(row[client]) < rank(row[OURS]));
    return ahead.length > 0 ? [`- \`${name}\`, ${title}: ${ahead.join(", ")}.`] : [];
  });
  if (better.length === 0) return "Another client does better in no case.";
  return `Another client does better in ${better.length} cases:\n\n${better.join("\n")}`;
}

/** Formats rows as the formatter of the repository does. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

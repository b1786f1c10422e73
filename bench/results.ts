import { markdownTable } from "./harness.ts";
import { clients, type SummaryRow } from "./topic.ts";

/* The summary of the bench: a table in docs/performance.md. A run of some topics leaves the other rows as they are. */

const HEAD = ["measure", ...clients, "command"];
const TABLE = /^\| measure .*\n(?:\|.*\n)*/m;

/** Replaces the rows of a topic in the table of a page, or adds them. */
export function updateSummary(page: string, summary: readonly SummaryRow[], command: string): string {
  const rows = new Map(readSummary(page).map((cells) => [cells[0], cells]));
  for (const { measure, texts } of summary)
    rows.set(measure, [measure, ...clients.map((client) => texts[client] ?? "–"), `\`${command}\``]);
  return page.replace(TABLE, () => `${markdownTable(HEAD, [...rows.values()])}\n`);
}

function readSummary(page: string): string[][] {
  const [, , ...lines] = (TABLE.exec(page)?.[0] ?? "").split("\n");
  return lines.filter(Boolean).map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((text) => text.trim()),
  );
}

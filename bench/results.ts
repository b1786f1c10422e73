import { markdownTable } from "./harness.ts";
import { clients, type Report } from "./topic.ts";

/*
 * The page of results: a head, the summary, and a section for each topic. A run of some topics leaves the others as
 * they are.
 */

const HEAD = ["measure", ...clients, "command"];

/** Adds the report of a topic to the page, in place of the last one. */
export function withReport(
  page: string,
  title: string,
  { markdown, summary = [] }: Report,
  command: string,
): string {
  const [head = "", ...sections] = page.trimEnd().split("\n\n## ");
  const byTitle = new Map(sections.map((section) => [section.split("\n")[0], section]));
  byTitle.set(title, `${title}\n\n${markdown}\n\n\`${command}\``);
  const rows = new Map(summaryOf(page).map((cells) => [cells[0], cells]));
  for (const { measure, texts } of summary)
    rows.set(measure, [measure, ...clients.map((client) => texts[client] ?? "–"), `\`${command}\``]);
  byTitle.set("Summary", `Summary\n\n${markdownTable(HEAD, [...rows.values()])}`);
  return `${[head, ...byTitle.values()].join("\n\n## ")}\n`;
}

/** Puts the summary of the results into a page that quotes it: in place of the table with the same head. */
export function withQuote(page: string, results: string): string {
  return page.replace(TABLE, () => tableIn(results));
}

const TABLE = /^\| measure .*\n(?:\|.*\n)*/m;

/** The summary as lines of Markdown; empty where a page has none. */
export function tableIn(page: string): string {
  return TABLE.exec(page)?.[0] ?? "";
}

function summaryOf(page: string): string[][] {
  const [, , ...lines] = tableIn(page).split("\n");
  return lines.filter(Boolean).map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((text) => text.trim()),
  );
}

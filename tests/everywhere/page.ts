import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * `docs/supported-platforms.md`: its text is written by hand, its tables by a run.
 */

const path = join(import.meta.dirname, "../../docs/supported-platforms.md");

export type Row = readonly string[];

/** The rows of the table under a heading, its head first. */
export function tableUnder(heading: string): string[][] {
  const [, table = ""] = createPattern(heading).exec(readFileSync(path, "utf8"))?.slice(1) ?? [];
  const lines = table.trim().split("\n");
  return lines
    .filter((_, at) => at !== 1)
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
}

/** Replaces the table under a heading, and the date of its run. */
export function writeTable(heading: string, head: Row, rows: readonly Row[], date: string): void {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (row: Row) => `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  const table = line(head) + rule + rows.map(line).join("");
  const page = readFileSync(path, "utf8");
  if (!createPattern(heading).test(page))
    throw new Error(`docs/supported-platforms.md has no table under ${heading}`);
  const replaced = page.replace(createPattern(heading), (_, before) => before + table);
  const dated = new RegExp(`(## ${heading}\\n\\nRun on )[-\\d]+`);
  writeFileSync(
    path,
    replaced.replace(dated, (_, before) => before + date),
  );
}

/** Text from a heading to its table, and the table. */
function createPattern(heading: string): RegExp {
  return new RegExp(`(## ${heading}\\n(?:(?!\\||#).*\\n)*)((?:\\|.*\\n)+)`);
}

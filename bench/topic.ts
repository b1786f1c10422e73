import type { Figure } from "./harness.ts";
import { cell, markdownTable } from "./harness.ts";

/** The clients that the summary compares, in the order of its columns. */
export const clients = [
  "Sluice",
  "eventsource-parser + JSON.parse",
  "openai",
  "AI SDK",
  "xsai",
  "TanStack AI",
] as const;

/** One row of the summary: the name of a measurement, and the text for each client. */
export interface SummaryRow {
  readonly measure: string;
  readonly texts: Readonly<Record<string, string>>;
}

/** Result of a topic: a file in `topics/` that exports a `title`, and `measure()`, which returns this. */
export interface Report {
  /** Sentences and tables, which the command prints. */
  readonly markdown: string;
  readonly summary?: readonly SummaryRow[];
}

/** Puts a cell into its column. */
export function put<Cell>(
  columns: Record<string, Record<string, Cell>>,
  column: string,
  row: string,
  cell: Cell,
): void {
  columns[column] = { ...columns[column], [row]: cell };
}

/** A table with a row for each subject, and a column for each case. */
export function formatTable(
  corner: string,
  columns: Readonly<Record<string, Readonly<Record<string, Figure | string>>>>,
): string {
  const cases = Object.keys(columns);
  const names = new Set(cases.flatMap((name) => Object.keys(columns[name] ?? {})));
  const shown = (figure: Figure | string | undefined) =>
    typeof figure === "object" ? cell(figure) : (figure ?? "–");
  return markdownTable(
    [corner, ...cases],
    [...names].map((name) => [name, ...cases.map((column) => shown(columns[column]?.[name]))]),
  );
}

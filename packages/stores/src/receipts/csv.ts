import type { Receipt } from "./receipt.js";

/** Columns of the file. */
const COLUMNS = [
  "startedAt",
  "endedAt",
  "kind",
  "model",
  "outcome",
  "billing",
  "attempts",
  "statuses",
  "callId",
  "requestId",
  "responseId",
  "idempotencyKey",
  "chatId",
  "messageId",
  "responseModel",
  "settings",
  "usage",
  "error",
] as const;

/**
 * Formats receipts as CSV (RFC 4180) with a header line. Times are ISO 8601, objects are JSON. A text that a spreadsheet
 * would run as a formula gets a leading `'`. For JSON, use `JSON.stringify(receipts)`.
 *
 * @example
 * ```ts
 * const csv = formatReceiptsCSV(await listReceipts(client, { storage }));
 * const url = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
 * ```
 */
export function formatReceiptsCSV(receipts: Iterable<Receipt>): string {
  const lines = [COLUMNS.join(",")];
  for (const receipt of receipts)
    lines.push(COLUMNS.map((column) => formatCell(column, receipt[column])).join(","));
  return lines.map((line) => `${line}\r\n`).join("");
}

function formatCell(column: (typeof COLUMNS)[number], value: unknown): string {
  if (value === undefined) return "";
  if (column === "startedAt" || column === "endedAt") return new Date(value as number).toISOString();
  if (column === "error") return quote(Object.values(value as object).join(": "));
  if (Array.isArray(value)) return value.join(" ");
  return quote(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function quote(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

import type { NotedText } from "./wire.js";

/** Longest part of a text that can be found, in letters. */
const MOST_LETTERS = 20_000;

/** Picks the texts of finished messages out of a page of records, and the keys of removed ones. */
export function textsIn(page: string): {
  readonly texts: readonly NotedText[];
  readonly removed: readonly string[];
} {
  const { records, removed } = JSON.parse(page) as {
    records: Record<string, { value: unknown }>;
    removed: readonly string[];
  };
  return { texts: Object.entries(records).flatMap(([key, { value }]) => textOf(key, value) ?? []), removed };
}

/** Returns the text of a message; undefined for other records, and for an answer that has not ended. */
function textOf(key: string, value: unknown): NotedText | undefined {
  const { role, content, outcome, createdAt } = fieldsOf(fieldsOf(value)["message"]);
  if (typeof content !== "string" || content === "") return undefined;
  if (role === "assistant" && outcome === undefined) return undefined;
  return {
    key,
    text: content.slice(0, MOST_LETTERS),
    at: Number.isFinite(createdAt) ? Number(createdAt) : 0,
  };
}

/** The fields of what may be an object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

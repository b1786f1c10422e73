import type { ObjectSQL } from "@sluice/durable/internal";
import { fieldsOf } from "./texts.js";

/**
 * Titles and texts that can be found. The words are in a table of SQLite's full-text search, which keeps no text of its own:
 * each change of `docs` is made there, too.
 */
export const SEARCH_TABLES: readonly string[] = [
  "CREATE TABLE docs (doc INTEGER PRIMARY KEY, id TEXT, key TEXT, title TEXT, text TEXT, at INTEGER)",
  "CREATE UNIQUE INDEX docsByKey ON docs (id, key)",
  "CREATE VIRTUAL TABLE search USING fts5 (title, text, content='docs', content_rowid='doc', tokenize='unicode61 remove_diacritics 2')",
];

/** A title or a text; the key of a title is empty. */
interface Doc {
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly text: string;
  readonly at: number;
}

/** A place in a user's conversations. */
interface Found {
  readonly id: string;
  readonly title: string;
  /** The message; absent for a title. */
  readonly key?: string;
  readonly excerpt: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Most words of a question, and words of an excerpt. */
const MOST_WORDS = 10;
const EXCERPT_WORDS = 16;
const COLUMNS = { title: 0, text: 1 } as const;

/** Opens the search of an index whose tables are there. */
export function openSearch(sql: ObjectSQL) {
  return { put, remove, removeSome, find };

  /** Puts a title or a text in, in place of an earlier one. */
  function put({ id, key, title, text, at }: Doc): void {
    const known = docOf(id, key);
    if (known?.["title"] === title && known["text"] === text) return;
    if (known) drop(known);
    sql.exec("INSERT INTO docs (id, key, title, text, at) VALUES (?, ?, ?, ?, ?)", id, key, title, text, at);
    const added = docOf(id, key);
    sql.exec("INSERT INTO search (rowid, title, text) VALUES (?, ?, ?)", added?.["doc"], title, text);
  }

  function remove(id: string, key: string): void {
    const known = docOf(id, key);
    if (known) drop(known);
  }

  /** Removes some texts of a conversation. Returns how many there were. */
  function removeSome(id: string, most: number): number {
    const some = sql.exec("SELECT * FROM docs WHERE id = ? LIMIT ?", id, most).toArray();
    for (const known of some) drop(known);
    return some.length;
  }

  function docOf(id: string, key: string): Record<string, unknown> | undefined {
    return sql.exec("SELECT * FROM docs WHERE id = ? AND key = ?", id, key).toArray()[0];
  }

  function drop({ doc, title, text }: Record<string, unknown>): void {
    sql.exec("INSERT INTO search (search, rowid, title, text) VALUES ('delete', ?, ?, ?)", doc, title, text);
    sql.exec("DELETE FROM docs WHERE doc = ?", doc);
  }

  /** Finds titles and then texts that have every word, the newest first; the last word may be the start of one. */
  function find(question: string, limit: number): readonly Found[] {
    const words = question.match(/[\p{L}\p{N}\p{M}]+/gu)?.slice(0, MOST_WORDS) ?? [];
    if (words.length === 0) return [];
    const asked = `${words.map((word) => `"${word}"`).join(" AND ")}*`;
    const titles = matches("title", asked, limit);
    return [...titles, ...matches("text", asked, limit - titles.length)];
  }

  function matches(column: keyof typeof COLUMNS, words: string, limit: number): readonly Found[] {
    if (limit <= 0) return [];
    const found = sql.exec(
      `SELECT docs.id, docs.key, docs.title, docs.at, records.value,
          snippet(search, ${COLUMNS[column]}, '', '', '…', ${EXCERPT_WORDS}) AS excerpt
        FROM search JOIN docs ON docs.doc = search.rowid
        LEFT JOIN threads ON threads.id = docs.id
        LEFT JOIN leaving ON leaving.id = docs.id
        LEFT JOIN records ON records.key = docs.id
        WHERE search MATCH ? AND threads.isGone IS NOT 1 AND leaving.id IS NULL
        ORDER BY search.rowid DESC LIMIT ?`,
      `{${column}} : (${words})`,
      limit,
    );
    return found.toArray().map(({ id, key, at, value, excerpt }) => ({
      id: String(id),
      title: titleIn(value),
      ...(key !== "" && { key: String(key) }),
      excerpt: String(excerpt),
      at: Number(at),
    }));
  }
}

/** The title in the record of a conversation. */
function titleIn(record: unknown): string {
  const { title } = fieldsOf(typeof record === "string" ? JSON.parse(record) : undefined);
  return typeof title === "string" ? title : "";
}

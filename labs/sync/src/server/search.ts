import { type Reader, reading } from "@sluice/worker-proxy/plugin";
import { readText, readWholeNumber } from "./checks.js";
import { createRefusal } from "./refusal.js";
import type { SyncRequest } from "./request.js";
import { createQuery, cutExcerpt, findText, type WordQuery } from "./words.js";

/** Maximum and default number of hits of a page, maximum bytes of its records, and maximum characters of a query. */
const MAX_HITS = 50;
const DEFAULT_HITS = 20;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_TEXT = 200;

type SearchInput = WordQuery & { readonly limit: number; readonly before: number };
type Hit = { readonly collection: string; readonly record: string; readonly excerpt: string };
type SearchOutput = { readonly hits: readonly Hit[]; readonly after: number | null };

interface HitRow {
  readonly doc: number;
  readonly collection: string;
  readonly record: string;
  readonly bytes: number;
}

const FIND = {
  // CROSS JOIN fixes the order: the full-text index returns the newest rows first, and stops at the limit
  sqlite: `SELECT r.doc, c.collection, r.record, r.bytes FROM sync_docs d
    CROSS JOIN sync_records r INDEXED BY sync_records_by_doc ON r.doc = d.rowid AND r.key = ?
    CROSS JOIN sync_collections c ON c.key = r.key AND c.id = r.collection
    WHERE d.sync_docs MATCH ? AND d.rowid < ? ORDER BY d.rowid DESC LIMIT ?`,
  // A bitmap scan does not return hits in order, so search the newest 500 documents first: they often have enough hits.
  // Otherwise use only the index of words (`OFFSET 0`), and sort at most 5,000 hits.
  postgres: `WITH params AS (SELECT CAST(? AS TEXT) AS key,
      replace(replace(replace(?, '" "', '" & "'), '"', ''''), '*', ':*')::tsquery AS words,
      CAST(? AS BIGINT) AS before, CAST(? AS BIGINT) AS hits),
    newest AS MATERIALIZED (SELECT d.doc, d.words FROM params p, sync_docs d
      WHERE d.key = p.key AND d.doc < p.before ORDER BY d.doc DESC LIMIT 500),
    recent AS MATERIALIZED (SELECT n.doc FROM params p, newest n WHERE n.words @@ p.words),
    older AS MATERIALIZED (SELECT d.doc FROM params p,
      LATERAL (SELECT key, doc FROM sync_docs WHERE words @@ p.words OFFSET 0) d
      WHERE (SELECT COUNT(*) FROM recent) < p.hits AND d.key = p.key AND d.doc < p.before LIMIT 5000)
    SELECT r.doc, c.collection, r.record, r.bytes FROM params p, (SELECT doc FROM recent UNION SELECT doc FROM older) d
    JOIN sync_records r ON r.doc = d.doc
    JOIN sync_collections c ON c.key = r.key AND c.id = r.collection
    WHERE r.key = p.key ORDER BY r.doc DESC LIMIT (SELECT hits FROM params)`,
};

/** Finds records by their words, the newest first. */
export const search = reading(
  "sync.search",
  async ({ key, query }: Reader, input: SearchInput): Promise<SearchOutput> => {
    const { match, first, limit, before } = input;
    const found = await query<HitRow>(FIND, key, match, before, limit + 1);
    const rows = found.slice(0, countHitsOfPage(found, limit));
    if (rows.length === 0) return { hits: [], after: null };
    const docs = rows.map(({ doc }) => doc);
    const selected = `WHERE key = ? AND doc IS NOT NULL AND doc IN (${docs.map(() => "?").join(", ")})`;
    const values = await query<{ doc: number; value: string }>(
      {
        sqlite: `SELECT doc, value FROM sync_records INDEXED BY sync_records_by_doc ${selected}`,
        postgres: `SELECT doc, value FROM sync_records ${selected}`,
      },
      ...[key, ...docs],
    );
    const valueOfDoc = new Map(values.map(({ doc, value }) => [doc, value]));
    return {
      hits: rows.flatMap(({ doc, collection, record }) => {
        const value = valueOfDoc.get(doc);
        // the record has changed since the first query
        if (value === undefined) return [];
        return [{ collection, record, excerpt: cutExcerpt(findText(JSON.parse(value)), first) }];
      }),
      after: rows.length < found.length ? (docs.at(-1) ?? null) : null,
    };
  },
);

/** Counts the hits that fit on a page: the first, then up to `limit` hits or {@link MAX_BYTES} of records. */
function countHitsOfPage(found: readonly HitRow[], limit: number): number {
  let bytes = 0;
  const end = found.findIndex((row, index) => {
    bytes += row.bytes;
    return index === limit || (index > 0 && bytes > MAX_BYTES);
  });
  return end < 0 ? found.length : end;
}

/** Serves a search. @throws {Refusal} */
export async function serveSearch<Env>({ host, key, body }: SyncRequest<Env>) {
  const words = createQuery(key, readText("text", body["text"], MAX_TEXT));
  if (!words) throw createRefusal("text_too_short");
  const limit = readWholeNumber("limit", body["limit"] ?? DEFAULT_HITS, [1, MAX_HITS]);
  const after = body["after"] ?? null;
  const before = after === null ? Number.MAX_SAFE_INTEGER : Number(readText("after", after, 16));
  if (!Number.isSafeInteger(before)) throw createRefusal("invalid_request", "after: send it as it came");
  const page = await host.run(key, search, { ...words, limit, before });
  return { ...page, after: page.after === null ? null : String(page.after) };
}

import { type Reader, reading } from "@sluice/worker-proxy/plugin";
import { readId } from "./checks.js";
import { type Cursor, formatCursor, parseCursor, START } from "./cursor.js";
import { createRefusal } from "./refusal.js";
import type { SyncRequest } from "./request.js";

type PullInput = { readonly collection: string; readonly cursor: Cursor | null };

/** Maximum number of records of a page, and of their bytes. */
const MAX_CHANGES = 500;
const MAX_BYTES = 512 * 1024;

interface PageRow {
  readonly newest: number;
  readonly tag: string;
  readonly is_known: number;
  /** Number of records that were found, at most one more than {@link MAX_CHANGES}. */
  readonly found: number | null;
  readonly record: string | null;
  readonly version: number;
  readonly value: string | null;
}

/*
 * One statement sees one commit: a page never has the records of a commit without the others of its version. The page is
 * cut by its bytes before any value is read.
 */
const PAGE = `WITH candidates AS (
    SELECT r.record, r.version, r.bytes FROM sync_collections c JOIN sync_records r ON r.key = c.key AND r.collection = c.id
      WHERE c.key = ? AND c.collection = ? AND (r.version, r.record) > (?, ?)
      ORDER BY r.version, r.record LIMIT ?),
  page AS (
    SELECT record, version, COUNT(*) OVER () AS found, SUM(bytes) OVER (ORDER BY version, record) - bytes AS bytes_before
      FROM candidates)
  SELECT u.version AS newest, l.tag, page.found, page.record, page.version, r.value,
      (SELECT COUNT(*) FROM sync_commits WHERE key = ? AND version = ? AND tag = ?) AS is_known
    FROM sync_users u JOIN sync_commits l ON l.key = u.key AND l.version = u.version
    LEFT JOIN sync_collections c ON c.key = u.key AND c.collection = ?
    LEFT JOIN page ON page.bytes_before < ?
    LEFT JOIN sync_records r ON r.key = u.key AND r.collection = c.id AND r.record = page.record
    WHERE u.key = ? ORDER BY page.version, page.record LIMIT ?`;

/** Reads a page of changes after a cursor. */
export const pull = reading(
  "sync.pull",
  async ({ key, query }: Reader, { collection, cursor }: PullInput) => {
    const from = cursor ?? START;
    // ids are never empty, so the empty text sorts first
    const [version, record] = from.after ?? [from.version + 1, ""];
    const rows = await query<PageRow>(
      PAGE,
      ...[key, collection, version, record, MAX_CHANGES + 1],
      ...[key, from.version, from.tag, collection, MAX_BYTES, key, MAX_CHANGES],
    );
    const [first] = rows;
    if (from.version !== START.version && !first?.is_known) throw createRefusal("unknown_cursor");
    const newest = first ? { version: first.newest, tag: first.tag } : START;
    const changes = rows.flatMap(({ record: id, version: recordVersion, value }) =>
      id === null ? [] : [{ record: id, version: recordVersion, value }],
    );
    const last = changes.at(-1);
    const hasMore = last !== undefined && changes.length < (first?.found ?? 0);
    // each page repeats the commit with which the pull began, so that it can't continue in another history
    const start = from.version === START.version ? newest : from;
    const next: Cursor = hasMore ? { ...start, after: [last.version, last.record] } : newest;
    return { changes, cursor: next, hasMore };
  },
);

/** Serves a pull. @throws {Refusal} */
export async function servePull<Env>({ host, key, body }: SyncRequest<Env>): Promise<Response> {
  const { collection, cursor } = body;
  const { changes, hasMore, ...page } = await host.run(key, pull, {
    collection: readId(collection),
    cursor: cursor == null ? null : parseCursor(cursor, true),
  });
  const texts = changes.map(
    ({ record, version, value }) =>
      `{"record":${JSON.stringify(record)},"version":${version},"value":${value}}`,
  );
  const rest = JSON.stringify({ cursor: formatCursor(page.cursor), hasMore });
  return new Response(`{"changes":[${texts.join(",")}],${rest.slice(1)}`, {
    headers: { "content-type": "application/json" },
  });
}

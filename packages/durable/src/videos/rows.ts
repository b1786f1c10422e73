import { type Reader, reading, type Transaction } from "@sluice/worker-proxy/plugin";
import type { WatchedTask } from "./task.js";

/** Tables of watches. `key` is the user's key. */
export const WATCH_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS video_watches (key TEXT NOT NULL, id TEXT NOT NULL, is_open BIGINT NOT NULL,
    version BIGINT NOT NULL, envelope TEXT, state TEXT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS video_watches_open ON video_watches (key, is_open)",
];

/** Columns that the queries read. */
interface WatchRow {
  readonly envelope: string | null;
  readonly state: string;
}

export async function readWatch(reader: Reader, id: string): Promise<WatchedTask | undefined> {
  const [row] = await reader.query<WatchRow>(
    "SELECT envelope, state FROM video_watches WHERE key = ? AND id = ?",
    reader.key,
    id,
  );
  return row && parseRow(row);
}

/** Reads up to `limit` watches with an id greater than `after`, ordered by id. */
export async function readWatches(reader: Reader, after: string, limit: number): Promise<WatchedTask[]> {
  const rows = await reader.query<WatchRow>(
    "SELECT envelope, state FROM video_watches WHERE key = ? AND id > ? ORDER BY id LIMIT ?",
    reader.key,
    after,
    limit,
  );
  return rows.map(parseRow);
}

/** The versions that the streams know; 0 for none. */
type Known = { readonly known: readonly { readonly id: string; readonly version: number }[] };

/** Reads the watches whose version differs from the known version. `task` is null for a deleted watch. */
export const findChanges = reading("videos.readChanges", async ({ key, query }, { known }: Known) => {
  const pages = await Promise.all(
    known.map(({ id, version }) =>
      query<Omit<WatchRow, "state"> & { readonly state: string | null }>(
        `SELECT CASE WHEN version = ? THEN NULL ELSE state END AS state,
          CASE WHEN version = ? THEN NULL ELSE envelope END AS envelope
          FROM video_watches WHERE key = ? AND id = ?`,
        ...[version, version, key, id],
      ),
    ),
  );
  return known.flatMap(({ id }, index) => {
    const [row] = pages[index] ?? [];
    if (!row) return { id, task: null as WatchedTask | null };
    const { state, envelope } = row;
    return state === null ? [] : { id, task: parseRow({ state, envelope }) };
  });
});

function parseRow({ envelope, state }: WatchRow): WatchedTask {
  return { ...(JSON.parse(state) as WatchedTask), ...(envelope !== null && { envelope }) };
}

export async function storeWatch(
  { key, query }: Transaction,
  { envelope = null, ...state }: Omit<WatchedTask, "envelope"> & { readonly envelope?: string | null },
): Promise<void> {
  const { id, version, end } = state;
  await query(
    `INSERT INTO video_watches (key, id, is_open, version, envelope, state) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (key, id) DO UPDATE SET is_open = excluded.is_open, version = excluded.version,
      envelope = excluded.envelope, state = excluded.state`,
    ...[key, id, end ? 0 : 1, version, envelope, JSON.stringify(state)],
  );
}

export async function deleteWatch({ key, query }: Transaction, id: string): Promise<void> {
  await query("DELETE FROM video_watches WHERE key = ? AND id = ?", key, id);
}

/** Returns true if a user has at least `count` open watches. */
export async function hasOpenWatches({ key, query }: Transaction, count: number): Promise<boolean> {
  const rows = await query(
    "SELECT id FROM video_watches WHERE key = ? AND is_open = 1 LIMIT 1 OFFSET ?",
    key,
    count - 1,
  );
  return rows.length > 0;
}

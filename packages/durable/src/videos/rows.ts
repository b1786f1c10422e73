import type { Reader, Transaction } from "@sluice/worker-proxy";
import { createReadings } from "../jobs/readings.js";
import { ONE } from "../jobs/table.js";
import { formatEvents, parseEnvelope, type WatchedTask } from "./task.js";

const KIND = "videos";

/** Number of watches per read or erasure. */
export const PAGE = 100;

/** The reads of watches for their event streams. A change that no notification announces is seen after `lookMs`. */
export const WATCHES = { ...createReadings(KIND), kind: KIND, lookMs: 25_000 };

/** Input of a job or an operation for one row. A timer has the id of its row. */
export type RowId = { readonly id: string };

/** The columns of a job that hold a watch: `details` is the watch without its envelope, `text` are its events. */
interface WatchRow {
  readonly details: string;
  readonly text: string;
}

export async function readWatch({ key, query }: Reader, id: string): Promise<WatchedTask | undefined> {
  const [row] = await query<WatchRow>(`SELECT details, text FROM jobs WHERE ${ONE}`, key, KIND, id);
  return row && parseRow(row);
}

export async function readWatches({ key, query }: Reader, after: string): Promise<WatchedTask[]> {
  const rows = await query<WatchRow>(
    "SELECT details, text FROM jobs WHERE key = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?",
    ...[key, KIND, after, PAGE],
  );
  return rows.map(parseRow);
}

function parseRow({ details, text }: WatchRow): WatchedTask {
  const envelope = parseEnvelope(text);
  return { ...(JSON.parse(details) as WatchedTask), ...(envelope !== undefined && { envelope }) };
}

export async function storeWatch({ key, query }: Transaction, task: WatchedTask): Promise<void> {
  const { id, lastId, end, nextAt } = task;
  const details = JSON.stringify({ ...task, envelope: undefined });
  const state = end ? "complete" : "sending";
  await query(
    `INSERT INTO jobs (key, kind, id, owner, fingerprint, state, details, text, text_id, last_id, is_whole, is_settled,
      alive_until, read_until, expires_at) VALUES (?, ?, ?, '', '', ?, ?, ?, ?, ?, 1, 1, 0, 0, ?)
      ON CONFLICT (key, kind, id) DO UPDATE SET state = excluded.state, details = excluded.details, text = excluded.text,
      text_id = excluded.text_id, last_id = excluded.last_id, expires_at = excluded.expires_at`,
    ...[key, KIND, id, state, details, formatEvents(task), lastId, lastId, end ? nextAt : null],
  );
}

export async function deleteWatch({ key, query }: Transaction, id: string): Promise<void> {
  await query(`DELETE FROM jobs WHERE ${ONE}`, key, KIND, id);
}

/** Returns true if a user has at least `count` open watches. */
export async function hasOpenWatches({ key, query }: Transaction, count: number): Promise<boolean> {
  const rows = await query(
    "SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NULL LIMIT 1 OFFSET ?",
    ...[key, KIND, count - 1],
  );
  return rows.length > 0;
}

import type { Reader, Transaction } from "@sluice/worker-proxy/plugin";
import { type Cursor, START } from "./cursor.js";
import { createRefusal } from "./refusal.js";
import { createWords, findText } from "./words.js";

/** Maximum number of commits and of tombstones that are stored for a user. */
const MAX_COMMITS = 10_000;
const MAX_TOMBSTONES = 50_000;
/** Maximum number of old tombstones that a commit deletes. A commit never adds more. */
const SWEPT_TOMBSTONES = 200;
/** Maximum size of a record, in bytes. */
export const MAX_RECORD_BYTES = 1024 * 1024;
/** Bytes of a row beside its id and its value. */
const ROW_BYTES = 100;

/** Version and totals of a user. */
export interface UserRow {
  readonly version: number;
  readonly records: number;
  readonly bytes: number;
  readonly tombstones: number;
}

/** Limits of the data of one user. */
export type Quota = { readonly records: number; readonly bytes: number };

/** A row of `sync_collections`. */
export interface CollectionRow {
  readonly id: number;
  readonly version: number;
}

/** A stored record, without its value. */
export interface RecordRow {
  readonly record: string;
  readonly version: number;
  readonly is_tombstone: number;
  readonly bytes: number;
  readonly turn: string | null;
  readonly doc: number | null;
}

/** A write of one record. */
export interface Write {
  readonly record: string;
  /** JSON; null deletes. */
  readonly value: string | null;
  /** The turn of the server that writes it. */
  readonly turn: string | null;
  /** The row that it replaces. */
  readonly row: RecordRow | undefined;
}

/** A collection of a user in a transaction. */
export interface OpenCollection {
  readonly name: string;
  readonly user: UserRow;
  readonly row: CollectionRow | undefined;
  /** The newest commit. */
  readonly newest: Cursor;
  /** The rows of the records that were named, by id. */
  readonly rows: ReadonlyMap<string, RecordRow>;
}

const NEW_USER: UserRow = { version: 0, records: 0, bytes: 0, tombstones: 0 };

/** Reads a collection, and the rows of some records, before a write. @throws {Refusal} for an unknown cursor */
export async function openCollection(
  reader: Reader,
  name: string,
  records: readonly string[],
  cursor: Cursor | null = null,
): Promise<OpenCollection> {
  const { key, query } = reader;
  const [[user = NEW_USER], [row], [newest], known] = await Promise.all([
    query<UserRow>("SELECT version, records, bytes, tombstones FROM sync_users WHERE key = ?", key),
    query<CollectionRow>(
      "SELECT id, version FROM sync_collections WHERE key = ? AND collection = ?",
      key,
      name,
    ),
    query<Cursor>("SELECT version, tag FROM sync_commits WHERE key = ? ORDER BY version DESC LIMIT 1", key),
    cursor
      ? query(
          "SELECT 1 AS found FROM sync_commits WHERE key = ? AND version = ? AND tag = ?",
          key,
          cursor.version,
          cursor.tag,
        )
      : [],
  ]);
  if (cursor && known.length === 0 && cursor.version !== START.version) throw createRefusal("unknown_cursor");
  return { name, user, row, newest: newest ?? START, rows: await readRows(reader, row, records) };
}

/** Reads the rows of records, without their values. */
async function readRows(
  { key, query }: Reader,
  row: CollectionRow | undefined,
  records: readonly string[],
): Promise<ReadonlyMap<string, RecordRow>> {
  if (!row || records.length === 0) return new Map();
  const rows = await query<RecordRow>(
    `SELECT record, version, CASE WHEN value IS NULL THEN 1 ELSE 0 END AS is_tombstone, bytes, turn, doc
      FROM sync_records WHERE key = ? AND collection = ? AND record IN (${records.map(() => "?").join(", ")})`,
    ...[key, row.id, ...records],
  );
  return new Map(rows.map((recordRow) => [recordRow.record, recordRow]));
}

/** Reads the JSON of a record; null for a tombstone, and without the record. */
export async function readValue(
  { key, query }: Reader,
  collection: number,
  record: string,
): Promise<string | null> {
  const [stored] = await query<{ value: string | null }>(
    "SELECT value FROM sync_records WHERE key = ? AND collection = ? AND record = ?",
    ...[key, collection, record],
  );
  return stored?.value ?? null;
}

/** Counts the bytes of a record in the database. */
function countBytes({ record, value }: Pick<Write, "record" | "value">): number {
  return ROW_BYTES + new TextEncoder().encode(`${record}${value ?? ""}`).length;
}

/** Writes records as one commit. Its cost does not depend on the number of stored records. */
export async function commitRecords(
  tx: Transaction,
  collection: OpenCollection,
  writes: readonly Write[],
): Promise<Cursor> {
  const { name, user, row } = collection;
  const version = user.version + 1;
  const id = row?.id ?? version;
  const [, cursor] = await Promise.all([
    writeRecords(tx, { id, version }, writes),
    commit(tx, writes.reduce(addWrite, { ...user, version })),
    tx.query(
      `INSERT INTO sync_collections (key, collection, id, version) VALUES (?, ?, ?, ?)
        ON CONFLICT (key, collection) DO UPDATE SET id = excluded.id, version = excluded.version`,
      ...[tx.key, name, id, version],
    ),
  ]);
  return cursor;
}

/** Writes the rows of records, and the words of their texts to the full-text index. */
async function writeRecords(
  tx: Transaction,
  { id, version }: { readonly id: number; readonly version: number },
  writes: readonly Write[],
): Promise<void> {
  const { key, query } = tx;
  await Promise.all(
    writes.map(async (write) => {
      const { record, value, turn, row } = write;
      const words = value === null ? "" : createWords(key, findText(JSON.parse(value)));
      const [doc] = await Promise.all([words === "" ? null : createDoc(tx), deleteDoc(tx, row?.doc)]);
      await Promise.all([
        query(
          `INSERT INTO sync_records (key, collection, record, version, value, bytes, turn, doc)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key, collection, record) DO UPDATE SET
            version = excluded.version, value = excluded.value, bytes = excluded.bytes, turn = excluded.turn,
            doc = excluded.doc`,
          ...[key, id, record, version, value, countBytes(write), turn, doc],
        ),
        doc === null ? undefined : query(ADD_DOC, key, doc, words),
      ]);
    }),
  );
}

const NEXT_DOC = {
  sqlite: `INSERT INTO sync_doc_ids (key, doc) VALUES ('', 1)
    ON CONFLICT (key) DO UPDATE SET doc = sync_doc_ids.doc + 1 RETURNING doc`,
  postgres: "SELECT nextval(pg_get_serial_sequence('sync_docs', 'doc')) AS doc",
};
const ADD_DOC = {
  sqlite: "INSERT INTO sync_docs (key, rowid, words) VALUES (?, ?, ?)",
  postgres:
    "INSERT INTO sync_docs (key, doc, words) VALUES (?, ?, array_to_tsvector(string_to_array(?, ' ')))",
};
const DELETE_DOC = {
  // the index does not store `key`, and a rowid belongs to one user
  sqlite: "DELETE FROM sync_docs WHERE rowid = ? AND ? <> ''",
  postgres: "DELETE FROM sync_docs WHERE doc = ? AND key = ?",
};

async function createDoc({ query }: Transaction): Promise<number | null> {
  const [next] = await query<{ doc: number }>(NEXT_DOC);
  return next?.doc ?? null;
}

/** Deletes a row of the full-text index, if there is one. */
export async function deleteDoc({ key, query }: Transaction, doc: number | null | undefined): Promise<void> {
  if (doc != null) await query(DELETE_DOC, doc, key);
}

/** Stores the next version of a user, and deletes old commits and tombstones. */
async function commit(tx: Transaction, { version, records, bytes, tombstones }: UserRow): Promise<Cursor> {
  const { key, query } = tx;
  const tag = createTag();
  tx.publish();
  const [swept] = await Promise.all([
    tombstones > MAX_TOMBSTONES ? sweepTombstones(tx) : 0,
    query("INSERT INTO sync_commits (key, version, tag) VALUES (?, ?, ?)", key, version, tag),
    query("DELETE FROM sync_commits WHERE key = ? AND version <= ?", key, version - MAX_COMMITS),
  ]);
  await query(
    `INSERT INTO sync_users (key, version, records, bytes, tombstones) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET version = excluded.version, records = excluded.records,
      bytes = excluded.bytes, tombstones = excluded.tombstones`,
    ...[key, version, records, bytes, tombstones - swept],
  );
  return { version, tag };
}

/** Deletes the oldest tombstones. Returns their number. */
async function sweepTombstones({ key, query }: Transaction): Promise<number> {
  const records = await query(
    `DELETE FROM sync_records WHERE key = ? AND value IS NULL AND (collection, record) IN
      (SELECT collection, record FROM sync_records WHERE key = ? AND value IS NULL ORDER BY version LIMIT ?)
      RETURNING version`,
    ...[key, key, SWEPT_TOMBSTONES],
  );
  return records.length;
}

/** Adds a write to the totals of a user. */
export function addWrite(user: UserRow, write: Write): UserRow {
  const { row, value } = write;
  const [isStored, wasStored] = [value !== null, row?.is_tombstone === 0];
  return {
    version: user.version,
    records: user.records + Number(isStored) - Number(wasStored),
    bytes: user.bytes + (isStored ? countBytes(write) : 0) - (wasStored ? (row?.bytes ?? 0) : 0),
    tombstones: user.tombstones + Number(!isStored) - (row?.is_tombstone ?? 0),
  };
}

/** Returns the limit that writes exceed. Above its quota, a user can still make records smaller. */
export function findExceeded(user: UserRow, writes: readonly Write[], quota: Quota) {
  if (writes.some((write) => countBytes(write) > MAX_RECORD_BYTES)) return "record_too_large";
  const after = writes.reduce(addWrite, user);
  const isFull = (["records", "bytes"] as const).some(
    (total) => after[total] > user[total] && after[total] > quota[total],
  );
  return isFull ? "quota_exceeded" : undefined;
}

/** A random text: two histories with the same version have different tags. */
function createTag(): string {
  return crypto.getRandomValues(new Uint32Array(2)).reduce((tag, word) => tag + word.toString(36), "");
}

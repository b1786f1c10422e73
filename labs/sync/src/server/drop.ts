import type { Transaction } from "@sluice/worker-proxy";
import { readId } from "./checks.js";
import { commitDrop, deleteDocs, openCollection } from "./commit.js";
import { type Cursor, formatCursor, parseCursor } from "./cursor.js";
import { job, operation } from "./define.js";
import { type FailureCode, readOutput } from "./failure.js";
import type { SyncRequest } from "./request.js";

type DropInput = { readonly collection: string; readonly cursor: Cursor };

/** Records that one step of a drop deletes. */
const STEP = 200;

/** Deletes some records of an id that no collection has any more. Returns their number. */
export const deleteStep = operation("drop.step", async (tx: Transaction, { id }: { readonly id: number }) => {
  const { key, query } = tx;
  const deleted = await query<{ is_tombstone: number; bytes: number; doc: number | null }>(
    `DELETE FROM sync_records WHERE key = ? AND collection = ? AND record IN
      (SELECT record FROM sync_records WHERE key = ? AND collection = ? LIMIT ?)
      RETURNING CASE WHEN value IS NULL THEN 1 ELSE 0 END AS is_tombstone, bytes, doc`,
    ...[key, id, key, id, STEP],
  );
  const values = deleted.filter(({ is_tombstone }) => is_tombstone === 0);
  const bytes = values.reduce((sum, row) => sum + row.bytes, 0);
  await Promise.all([
    deleteDocs(
      tx,
      deleted.map(({ doc }) => doc),
    ),
    query(
      "UPDATE sync_users SET records = records - ?, bytes = bytes - ?, tombstones = tombstones - ? WHERE key = ?",
      ...[values.length, bytes, deleted.length - values.length, key],
    ),
  ]);
  return deleted.length;
});

/** Deletes the records of a dropped collection, step by step. */
export const deleteDropped = job("drop.delete", 100, async ({ host, key, signal }, input: { id: number }) => {
  while ((await host.run(key, deleteStep, input)) > 0) signal.throwIfAborted();
});

/** Drops a collection. Its records are deleted by a job. */
export const drop = operation(
  "drop",
  async (
    tx: Transaction,
    input: DropInput,
  ): Promise<{ cursor: Cursor } | { readonly failed: FailureCode }> => {
    const collection = await openCollection(tx, input.collection, input.cursor);
    if ("failed" in collection) return collection;
    const id = collection.row?.id ?? null;
    // there is nothing, or the commit of a first attempt was stored
    if (id === null) return { cursor: collection.newest };
    const [cursor] = await Promise.all([
      commitDrop(tx, collection),
      tx.schedule(deleteDropped, { id: String(id), at: tx.now, input: { id } }),
    ]);
    return { cursor };
  },
);

/** Serves a drop. @throws {SyncFailure} */
export async function serveDrop<Env>({ host, key, body }: SyncRequest<Env>) {
  const input = { collection: readId(body["collection"]), cursor: parseCursor(body["cursor"]) };
  const { cursor } = readOutput(await host.run(key, drop, input));
  return { results: [], cursor: formatCursor(cursor) };
}

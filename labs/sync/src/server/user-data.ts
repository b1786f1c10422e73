import {
  type BoundHost,
  operation,
  type Reader,
  reading,
  type Transaction,
  type UserData,
} from "@sluice/worker-proxy/plugin";
import { deleteDoc } from "./commit.js";
import { createKey } from "./request.js";

/** Number of records in one step, and size of an export in bytes after which it ends. */
const STEP_RECORDS = 200;
const MAX_EXPORT_BYTES = 16 * 1024 * 1024;

/** Deletes some records of a user. Returns their number. */
const eraseRecords = operation("sync.erase.records", async (tx: Transaction, _: null) => {
  const { key, query } = tx;
  const deleted = await query<{ doc: number | null }>(
    `DELETE FROM sync_records WHERE key = ? AND (collection, record) IN
      (SELECT collection, record FROM sync_records WHERE key = ? LIMIT ?) RETURNING doc`,
    ...[key, key, STEP_RECORDS],
  );
  await Promise.all(deleted.map(({ doc }) => deleteDoc(tx, doc)));
  return deleted.length;
});

/** Deletes the other rows of a user, once all records are deleted. */
const eraseRest = operation("sync.erase.rest", async ({ key, query, publish }: Transaction, _: null) => {
  publish();
  const tables = ["collections", "commits", "users", "turns", "calls"];
  await Promise.all(tables.map((table) => query(`DELETE FROM sync_${table} WHERE key = ?`, key)));
  return null;
});

type ExportInput = { readonly collection: string; readonly record: string };

const readExport = reading(
  "sync.export",
  async ({ key, query }: Reader, { collection, record }: ExportInput) => {
    return await query<{ collection: string; record: string; value: string; bytes: number }>(
      `SELECT c.collection, r.record, r.value, r.bytes FROM sync_collections c
      JOIN sync_records r ON r.key = c.key AND r.collection = c.id
      WHERE c.key = ? AND (c.collection, r.record) > (?, ?) AND r.value IS NOT NULL
      ORDER BY c.collection, r.record LIMIT ?`,
      ...[key, collection, record, STEP_RECORDS],
    );
  },
);

/** The operations of {@link createUserData}. */
export const userDataOperations = [eraseRecords, eraseRest, readExport];

/** Creates the functions that erase and export the data of a user, for the operator. */
export function createUserData<Env>(host: (env: Env) => BoundHost): UserData<Env> {
  return {
    name: "sync",
    async eraseUser(env, userId) {
      const key = await createKey(userId);
      const bound = host(env);
      while ((await bound.run(key, eraseRecords, null)) > 0);
      await bound.run(key, eraseRest, null);
    },
    async exportUser(env, userId) {
      const key = await createKey(userId);
      const bound = host(env);
      const records: object[] = [];
      let bytes = 0;
      for (let last: ExportInput = { collection: "", record: "" }; bytes < MAX_EXPORT_BYTES; ) {
        const rows = await bound.run(key, readExport, last);
        const lastRow = rows.at(-1);
        if (!lastRow) return { records, isWhole: true };
        for (const { value, ...row } of rows) {
          bytes += row.bytes;
          records.push({ collection: row.collection, record: row.record, value: JSON.parse(value) });
        }
        last = { collection: lastRow.collection, record: lastRow.record };
      }
      return { records, isWhole: false };
    },
  };
}

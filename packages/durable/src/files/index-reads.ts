import type { ObjectSQL } from "../objects/object.js";
import type { CopyRow, FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";

/** Number of rows of a page. */
const PAGE = 100;

/** Finds whole files by their ids, and by the files that they are copies of. */
export function findFiles(sql: ObjectSQL, { ids, sources }: IndexRequest & { do: "find" }): IndexAnswer {
  const all = [...ids.map((id) => ["id", id] as const), ...sources.map((one) => ["source", one] as const)];
  const query = (field: string) =>
    `SELECT * FROM files WHERE ${field} = ? AND isWhole = 1 AND isDropped = 0 AND expiresAt > ?`;
  const files = all.flatMap(([field, value]) => sql.exec(query(field), value, Date.now()).toArray());
  return { files: files as unknown as FileRow[] };
}

/** Reads a page. It is read by the key alone, so that it may be shorter than another one, and more may follow. */
export function readPage(sql: ObjectSQL, { of, after }: IndexRequest & { do: "list" }): IndexAnswer {
  if (of === "copies") {
    const query = "SELECT * FROM copies WHERE source > ? ORDER BY source LIMIT ?";
    const copies = sql.exec(query, after, PAGE).toArray() as unknown as CopyRow[];
    return { copies, next: copies[PAGE - 1]?.source };
  }
  const query = `SELECT files.*, copies.taskId FROM files LEFT JOIN copies ON copies.id = files.id
    WHERE files.id > ? ORDER BY files.id LIMIT ?`;
  const found = sql.exec(query, after, PAGE).toArray() as unknown as FileRow[];
  const files = found.filter(({ isDropped, expiresAt }) => !isDropped && expiresAt > Date.now());
  return { files, next: found[PAGE - 1]?.id };
}

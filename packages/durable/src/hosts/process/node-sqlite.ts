import { DatabaseSync } from "node:sqlite";
import type { SQLiteDatabase } from "./sqlite.js";

/** Opens a database of Node's own SQLite. */
export function openNodeSQLite(): SQLiteDatabase {
  return new DatabaseSync(":memory:");
}

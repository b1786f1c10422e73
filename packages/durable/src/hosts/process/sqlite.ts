import type { RowValue } from "./keeper.js";

/** Opens an empty database in memory. */
export type OpenSQLite = () => SQLiteDatabase;

/** The part of `node:sqlite` that objects use: another SQLite gives the same. */
export interface SQLiteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SQLiteStatement;
  /** Notes changes of all tables from now on. */
  createSession(): SQLiteSession;
  close(): void;
}

/** A prepared statement. */
export interface SQLiteStatement {
  all(...values: RowValue[]): Record<string, unknown>[];
  get(...values: RowValue[]): Record<string, unknown> | undefined;
  run(...values: RowValue[]): unknown;
  /** Columns of its rows; none where it gives no rows. */
  columns(): { readonly length: number };
}

/** Changes of a database since it was made. */
export interface SQLiteSession {
  /** Returns them in the format of SQLite's session extension. */
  changeset(): Uint8Array;
  close(): void;
}

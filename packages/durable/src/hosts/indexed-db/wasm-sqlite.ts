import type { RowValue } from "../process/keeper.js";
import type { SQLiteDatabase, SQLiteSession, SQLiteStatement } from "../process/sqlite.js";

/** The part of `@sqlite.org/sqlite-wasm` that is used here: its module, as it is initialized. */
export interface SQLiteModule {
  readonly oo1: { readonly DB: new (name: string) => WasmDatabase };
  readonly capi: {
    sqlite3session_create(database: number, name: string, session: number): number;
    // null stands for all tables
    sqlite3session_attach(session: number, table: null): number;
    sqlite3session_changeset(session: number, bytes: number, changeset: number): number;
    sqlite3session_delete(session: number): void;
    sqlite3_free(address: number): void;
  };
  readonly wasm: {
    alloc(bytes: number): number;
    dealloc(address: number): void;
    peekPtr(address: number): number;
    peek32(address: number): number;
    heap8u(): Uint8Array;
  };
}

interface WasmDatabase {
  readonly pointer?: number | undefined;
  exec(sql: string): unknown;
  prepare(sql: string): WasmStatement;
  close(): void;
}

interface WasmStatement {
  readonly columnCount: number;
  bind(values: readonly RowValue[]): unknown;
  step(): boolean;
  get(row: object): unknown;
  reset(): unknown;
}

/** Memory for an address or a number. */
const CELL_BYTES = 8;

/** Opens a database in the memory of SQLite's WebAssembly. */
export function openWasmSQLite(sqlite: SQLiteModule): SQLiteDatabase {
  const database = new sqlite.oo1.DB(":memory:");
  return {
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => prepare(database, sql),
    createSession: () => openSession(sqlite, database),
    // its statements end with it
    close: () => database.close(),
  };
}

function prepare(database: WasmDatabase, sql: string): SQLiteStatement {
  const statement = database.prepare(sql);
  return {
    all,
    get: (...values) => rowsOf(values, 1)[0],
    run: all,
    columns: () => ({ length: statement.columnCount }),
  };

  function all(...values: RowValue[]): Record<string, unknown>[] {
    return rowsOf(values, Number.POSITIVE_INFINITY);
  }

  function rowsOf(values: readonly RowValue[], most: number): Record<string, unknown>[] {
    try {
      if (values.length > 0) statement.bind(values);
      const rows: Record<string, unknown>[] = [];
      while (rows.length < most && statement.step()) rows.push(statement.get({}) as Record<string, unknown>);
      return rows;
    } finally {
      statement.reset();
    }
  }
}

function openSession({ capi, wasm }: SQLiteModule, { pointer = 0 }: WasmDatabase): SQLiteSession {
  const session = withCells(wasm, ([at]) => {
    checked("create", capi.sqlite3session_create(pointer, "main", at));
    return wasm.peekPtr(at);
  });
  checked("attach", capi.sqlite3session_attach(session, null));
  return { changeset, close: () => capi.sqlite3session_delete(session) };

  function changeset(): Uint8Array {
    return withCells(wasm, ([bytes, at]) => {
      checked("changeset", capi.sqlite3session_changeset(session, bytes, at));
      const start = wasm.peekPtr(at);
      // a copy: the memory moves where it grows
      const copy = wasm.heap8u().slice(start, start + wasm.peek32(bytes));
      capi.sqlite3_free(start);
      return copy;
    });
  }
}

/** Lends two places in memory, to which SQLite writes. */
function withCells<Result>(
  wasm: SQLiteModule["wasm"],
  use: (cells: readonly [number, number]) => Result,
): Result {
  const at = wasm.alloc(2 * CELL_BYTES);
  try {
    return use([at, at + CELL_BYTES]);
  } finally {
    wasm.dealloc(at);
  }
}

/** @throws {Error} where SQLite reports a failure */
function checked(name: string, code: number): void {
  if (code !== 0) throw new Error(`SQLite: session ${name} failed with ${code}`);
}

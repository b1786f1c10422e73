import type { ObjectState, ObjectStorage } from "../../src/host/cloudflare-types.js";

/** Rows that a Durable Object has read and written. An alarm that is set counts as one written row. */
export interface Rows {
  read: number;
  written: number;
}

/** A cursor with the platform's counts: of all rows so far, which grow while the cursor is read. */
type Cursor = ReturnType<ObjectStorage["sql"]["exec"]> & {
  readonly rowsRead: number;
  readonly rowsWritten: number;
};

/** Wraps the state of a Durable Object, and counts its rows in `rows`. */
export function countedState(
  state: ObjectState,
  rows: Rows = { read: 0, written: 0 },
): { readonly state: ObjectState; readonly rows: Rows } {
  const sql: ObjectStorage["sql"] = {
    exec(query, ...bindings) {
      const cursor = state.storage.sql.exec(query, ...bindings) as Cursor;
      const before = { read: cursor.rowsRead, written: cursor.rowsWritten };
      rows.read += before.read;
      rows.written += before.written;
      return {
        toArray() {
          const all = cursor.toArray();
          rows.read += cursor.rowsRead - before.read;
          rows.written += cursor.rowsWritten - before.written;
          return all;
        },
      };
    },
  };
  const storage = new Proxy(state.storage, {
    get(target, name) {
      if (name === "sql") return sql;
      if (name === "setAlarm") rows.written += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return {
    rows,
    state: {
      id: state.id,
      storage,
      blockConcurrencyWhile: (work) => state.blockConcurrencyWhile(work),
      waitUntil: (work) => state.waitUntil(work),
    },
  };
}

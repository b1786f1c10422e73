import type { RowValue } from "./keeper.js";

/** The rows of one table that have changed. */
export interface ChangedRows {
  readonly table: string;
  /** For each column its place in the primary key from 1 on; 0 where it is not in it. */
  readonly keyPlaces: readonly number[];
  /** Values of the columns of each row; those outside the primary key are undefined where they are not known. */
  readonly rows: readonly (readonly (RowValue | undefined)[])[];
}

const TABLE = 0x54;
const INSERT = 18;
const UPDATE = 23;
const VALUE = { missing: 0, integer: 1, float: 2, text: 3, blob: 4 } as const;

/**
 * Reads which rows a changeset of SQLite's session extension changes.
 *
 * @see https://www.sqlite.org/session/c_changesetapply_fknoaction.html for the extension; the format is that of
 *   `sqlite3session.h`: for each table its columns and its name, then an operation with the old or new values of a row.
 */
export function changedRows(changeset: Uint8Array): readonly ChangedRows[] {
  const tables: { table: string; keyPlaces: number[]; rows: (RowValue | undefined)[][] }[] = [];
  const reader = openReader(changeset);
  for (let current = tables[0]; !reader.isDone(); ) {
    const operation = reader.byte();
    if (operation === TABLE) {
      const keyPlaces = Array.from({ length: reader.count() }, () => 0);
      for (const column of keyPlaces.keys()) keyPlaces[column] = reader.byte();
      current = { table: reader.name(), keyPlaces, rows: [] };
      tables.push(current);
      continue;
    }
    if (!current) throw new Error("a changeset begins with a table");
    // whether the row was changed by a trigger
    reader.byte();
    const columns = current.keyPlaces.length;
    current.rows.push(reader.values(columns));
    // an update has the old values and then the new ones; the key is among the old ones
    if (operation === UPDATE) reader.values(columns);
    else if (operation !== INSERT && operation !== DELETE)
      throw new Error(`a changeset has no operation ${operation}`);
  }
  return tables;
}
const DELETE = 9;

function openReader(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  let at = 0;
  return { isDone: () => at >= bytes.byteLength, byte, count, name, values };

  function byte(): number {
    const value = view.getUint8(at);
    at += 1;
    return value;
  }

  /** Reads a number of 1 to 9 bytes, each but the last with its highest bit set. */
  function count(): number {
    let value = 0;
    for (let read = 0; read < 8; read += 1) {
      const next = byte();
      value = value * 128 + (next & 127);
      if (next < 128) return value;
    }
    return value * 256 + byte();
  }

  /** Reads a text that ends with a zero. */
  function name(): string {
    const end = bytes.indexOf(0, at);
    const text = decoder.decode(bytes.subarray(at, end));
    at = end + 1;
    return text;
  }

  function values(columns: number): (RowValue | undefined)[] {
    return Array.from({ length: columns }, value);
  }

  function value(): RowValue | undefined {
    const type = byte();
    if (type === VALUE.missing) return undefined;
    if (type === VALUE.integer || type === VALUE.float) {
      at += 8;
      return type === VALUE.integer ? Number(view.getBigInt64(at - 8)) : view.getFloat64(at - 8);
    }
    if (type !== VALUE.text && type !== VALUE.blob) return null;
    const length = count();
    at += length;
    const part = bytes.subarray(at - length, at);
    return type === VALUE.text ? decoder.decode(part) : part.slice();
  }
}

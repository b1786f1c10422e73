import type { RowValue, StoredRow } from "./keeper.js";

/** A row as keepers write it. */
export interface RowText {
  readonly place: string;
  readonly table: string;
  /** JSON of the values; `[]` stands for the bytes. */
  readonly row: string;
  readonly bytes: Uint8Array | null;
}

/** Writes a row. @throws {Error} for one that has two fields with bytes */
export function textOfRow({ place, table, values }: StoredRow): RowText {
  const [bytes = null, ...more] = values.filter((value) => value instanceof Uint8Array);
  if (more.length > 0) throw new Error(`table ${table}: a row has one field with bytes at most`);
  const row = JSON.stringify(values.map((value) => (value instanceof Uint8Array ? [] : value)));
  return { place, table, row, bytes };
}

/** Reads a row. */
export function rowOfText({ place, table, row, bytes }: RowText): StoredRow {
  const values = JSON.parse(row) as (RowValue | [])[];
  return {
    place,
    table,
    values: values.map((value) => (Array.isArray(value) ? (bytes as Uint8Array) : value)),
  };
}

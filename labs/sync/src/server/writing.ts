import type { ObjectSQL } from "@sluice/durable/internal";
import { type CollectionState, readState, writeState } from "./record-tables.js";
import type { RecordRefusal } from "./refusals.js";

/** A change of a record; `null` removes it. `seen` is the version that the device knows, 0 for none. */
export interface Change {
  readonly value: unknown;
  readonly seen: number;
  /** Value that the device has sent just before, and that may have come first; absent where there is none. */
  readonly sent?: unknown;
}

/** Most of a record, its key included, in bytes. */
const RECORD_BYTES = 1024 * 1024;
/** Most letters of a key. */
const KEY_LETTERS = 512;
/** Most changes of one request that are looked at, and the most bytes of its answer: the rest is sent again. */
const MOST_CHANGES = 1_000;
const KEPT_BYTES = 4 * 1024 * 1024;
/** Bytes of a row beside its texts. */
const ROW_BYTES = 32;
/** Most removed records that are remembered: beyond them the oldest is forgotten, and older devices read the whole. */
const MOST_REMOVED = 10_000;

/** A change that was taken; `value` is null for a removed record. */
export interface Taken {
  readonly key: string;
  readonly value: unknown;
}

/** The bounds of one write. */
interface Bounds {
  readonly mostRecords: number;
  readonly mostBytes: number;
  /** Returns the code of a record that is refused by its key. */
  readonly refuse?: ((key: string) => RecordRefusal | undefined) | undefined;
  /** Called with what has changed before the state is written. */
  readonly note?: ((state: CollectionState, changed: readonly Taken[]) => void) | undefined;
}

/** The end of a write: what is in none of the three lists was not looked at. */
export interface Written {
  readonly version: number;
  readonly taken: readonly (readonly [key: string, version: number])[];
  readonly kept: readonly (readonly [key: string, there: Known])[];
  readonly refused: readonly (readonly [key: string, code: RecordRefusal])[];
  /** Those of `taken` that changed something. */
  readonly changed: readonly Taken[];
}

/** A record as it is there: its JSON, or null where it was removed or never was. */
interface Known {
  readonly version: number;
  readonly bytes: number;
  readonly value: string | null;
}

const encoder = new TextEncoder();
export const bytesOf = (text: string) => encoder.encode(text).byteLength;

/**
 * Writes records in one transaction: each is taken where nobody has changed it since the device saw it. A value that is
 * there already makes no new version, so that a repeat changes nothing.
 */
export function writeRecords(
  sql: ObjectSQL,
  changes: Readonly<Record<string, Change>>,
  { mostRecords, mostBytes, refuse, note }: Bounds,
  now: number,
): Written {
  const state = readState(sql) as CollectionState;
  const taken: [string, number][] = [];
  const kept: [string, Known][] = [];
  const refused: [string, RecordRefusal][] = [];
  const changed: Taken[] = [];
  let keptBytes = 0;
  for (const [key, { value, seen, sent }] of Object.entries(changes).slice(0, MOST_CHANGES)) {
    const known = find(sql, key);
    const unfit = refuse?.(key);
    const text = textOf(value);
    const isSeen = () => sent !== undefined && textOf(sent) === known.value;
    if (!unfit && known.value === text) taken.push([key, known.version]);
    else if (known.version > seen && !isSeen()) {
      keptBytes += known.bytes;
      if (kept.length > 0 && keptBytes > KEPT_BYTES) break;
      kept.push([key, known]);
    } else {
      const bytes = sizeOf(key, text);
      const code = unfit ?? refusalOf(key, text, known, bytes);
      if (code) refused.push([key, code]);
      else {
        put(key, text, bytes, known);
        taken.push([key, state.version]);
        changed.push({ key, value });
      }
    }
  }
  if (changed.length > 0) {
    note?.(state, changed);
    writeState(sql, { ...state, touchedAt: now });
  }
  return { version: state.version, taken, kept, refused, changed };

  function refusalOf(
    key: string,
    text: string | null,
    known: Known,
    bytes: number,
  ): RecordRefusal | undefined {
    if (text === null) return undefined;
    if (key === "" || key.length > KEY_LETTERS) return "key_too_long";
    if (bytes - ROW_BYTES > RECORD_BYTES) return "record_too_large";
    if (known.value === null && state.records >= mostRecords) return "conversation_full";
    const more = bytes - known.bytes;
    return more > 0 && state.bytes + more > mostBytes ? "space_exceeded" : undefined;
  }

  function put(key: string, text: string | null, bytes: number, known: Known): void {
    state.version += 1;
    state.bytes += bytes - known.bytes;
    if (text === null) {
      sql.exec("DELETE FROM records WHERE version = ?", known.version);
      sql.exec("INSERT INTO removed VALUES (?, ?, ?, ?)", state.version, key, bytes, now);
      state.records -= 1;
      state.removals += 1;
      if (state.removals > MOST_REMOVED) forgetRemoved(sql, state, 1);
    } else if (known.value === null) {
      if (known.version > 0) {
        sql.exec("DELETE FROM removed WHERE version = ?", known.version);
        state.removals -= 1;
      }
      sql.exec("INSERT INTO records VALUES (?, ?, ?, ?)", state.version, key, bytes, text);
      state.records += 1;
    } else {
      const set = "UPDATE records SET version = ?, bytes = ?, value = ? WHERE version = ?";
      sql.exec(set, state.version, bytes, text, known.version);
    }
  }
}

function textOf(value: unknown = null): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Size of the row of a record, or of what is remembered of a removed one. */
function sizeOf(key: string, text: string | null): number {
  return ROW_BYTES + bytesOf(key) + (text === null ? 0 : bytesOf(text));
}

function find(sql: ObjectSQL, key: string): Known {
  const [record] = sql.exec("SELECT version, bytes, value FROM records WHERE key = ?", key).toArray();
  if (record) return record as unknown as Known;
  const [removed] = sql.exec("SELECT version, bytes FROM removed WHERE key = ?", key).toArray();
  return { version: 0, bytes: 0, ...removed, value: null };
}

/** Forgets the oldest removed records, and that anything up to them is known one by one. */
export function forgetRemoved(sql: ObjectSQL, state: CollectionState, most: number, until = Infinity): void {
  const oldest = sql.exec("SELECT version, bytes, at FROM removed ORDER BY version LIMIT ?", most).toArray();
  for (const { version, bytes } of oldest.filter(({ at }) => Number(at) <= until)) {
    sql.exec("DELETE FROM removed WHERE version = ?", version);
    state.floor = Number(version);
    state.bytes -= Number(bytes);
    state.removals -= 1;
  }
}

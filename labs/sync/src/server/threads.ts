import type { ObjectSQL } from "@sluice/durable/internal";
import { type CollectionState, readState, writeState } from "./record-tables.js";
import type { IndexAnswer, Listed } from "./wire.js";

/** Space that a conversation counts for once it is gone, so that marks are bounded, too; in bytes. */
const GONE_BYTES = 128;
/** Most conversations of one list. */
const PAGE = 100;
/** Least space that a conversation has, in bytes; how much more than it uses, and the share beyond which it gives some back. */
export const LEAST_BYTES = 2_048;
export const SPARE = 1.5;
const MOST_SPARE = 4;

interface Thread {
  readonly granted: number;
  readonly claims: number;
  readonly touchedAt: number;
  readonly isGone: 0 | 1;
}

/** Opens the list of a user's conversations, in an index whose tables are there. `state.granted` is the sum of their space. */
export function openThreads(sql: ObjectSQL, bytesPerUser: number) {
  return { claim, note, bury, list, forget, find, postpone };

  function find(id: string): Thread | undefined {
    const query = "SELECT granted, claims, touchedAt, isGone FROM threads WHERE id = ?";
    return sql.exec(query, id).toArray()[0] as unknown as Thread | undefined;
  }

  /** Sets space aside, as far as there is some; never less than before. */
  function claim(id: string, wanted: number, now: number): IndexAnswer {
    const known = find(id);
    if (known?.isGone) return { isGone: true };
    const state = readState(sql) as CollectionState;
    const had = known?.granted ?? 0;
    const free = bytesPerUser - state.bytes - state.granted + had;
    // a new one without any space would be one more row for nothing
    if (!known && free < LEAST_BYTES) return { granted: 0, isFull: true };
    const granted = Math.max(had, Math.min(wanted, free), 0);
    const put = "INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, 0)";
    sql.exec(put, id, granted, (known?.claims ?? 0) + 1, now);
    writeState(sql, { ...state, granted: state.granted + granted - had });
    return { granted };
  }

  /** Takes the size and the age of a conversation over, and space back that it does not need any more. */
  function note(id: string, bytes: number, touchedAt: number): IndexAnswer {
    const known = find(id);
    if (!known) return { isKnown: false };
    if (known.isGone) return { isGone: true };
    const needed = Math.max(LEAST_BYTES, Math.ceil(SPARE * bytes));
    const granted = known.granted > MOST_SPARE * needed ? needed : known.granted;
    sql.exec("UPDATE threads SET granted = ?, touchedAt = ? WHERE id = ?", granted, touchedAt, id);
    if (granted !== known.granted) {
      const state = readState(sql) as CollectionState;
      writeState(sql, { ...state, granted: state.granted + granted - known.granted });
    }
    return { granted };
  }

  /** Notes that a conversation is gone. Its mark stays, so that a device that was away does not bring it back. */
  function bury(id: string, now: number): void {
    const known = find(id);
    sql.exec(
      "INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, 1)",
      id,
      GONE_BYTES,
      (known?.claims ?? 0) + 1,
      now,
    );
    const state = readState(sql) as CollectionState;
    writeState(sql, { ...state, granted: state.granted + GONE_BYTES - (known?.granted ?? 0) });
  }

  function list(after: string): readonly Listed[] {
    const rows = sql
      .exec("SELECT id, claims FROM threads WHERE id > ? ORDER BY id LIMIT ?", after, PAGE)
      .toArray();
    return rows as unknown as Listed[];
  }

  function forget(listed: readonly Listed[]): void {
    for (const { id, claims } of listed) {
      const known = find(id);
      if (known?.claims !== claims) continue;
      sql.exec("DELETE FROM threads WHERE id = ?", id);
      const state = readState(sql) as CollectionState;
      writeState(sql, { ...state, granted: state.granted - known.granted });
    }
  }

  /** Lets a conversation wait that can't be removed now, or was changed later than was known here. */
  function postpone(id: string, touchedAt: number): void {
    sql.exec("UPDATE threads SET touchedAt = ? WHERE id = ? AND isGone = 0", touchedAt, id);
  }
}

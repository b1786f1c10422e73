import type { Query } from "./run-operation.js";
import { MAX_BUSY_KEYS, type TimerKeys } from "./timer-rows.js";

/**
 * Table of the keys that have timers. `due` is not later than the earliest of their timers. Keys take turns, so that a user
 * with many timers does not delay others.
 */
const TABLES = [
  "CREATE TABLE IF NOT EXISTS timer_keys (key TEXT NOT NULL PRIMARY KEY, due BIGINT NOT NULL)",
  "CREATE INDEX IF NOT EXISTS timer_keys_due ON timer_keys (due)",
];

const EARLIER =
  "ON CONFLICT (key) DO UPDATE SET due = CASE WHEN excluded.due < timer_keys.due THEN excluded.due ELSE timer_keys.due END";
const TOUCH = `INSERT INTO timer_keys (key, due) VALUES (?, ?) ${EARLIER}`;
const BUSY = Array(MAX_BUSY_KEYS).fill("?").join(", ");
const FIND_DUE = `SELECT key FROM timer_keys WHERE due <= ? AND key NOT IN (${BUSY}) ORDER BY due LIMIT ?`;
// a key with more due timers goes behind the others
const END_TURN = `UPDATE timer_keys SET due = CASE WHEN (SELECT MIN(due) FROM timers WHERE key = ?) > ?
  THEN (SELECT MIN(due) FROM timers WHERE key = ?) ELSE ? END WHERE key = ?`;
// not `NOT EXISTS`: for it, Postgres reads the whole table
const DROP = "DELETE FROM timer_keys WHERE key = ? AND (SELECT MIN(due) FROM timers WHERE key = ?) IS NULL";
const RECOVER = `INSERT INTO timer_keys (key, due) SELECT key, MIN(due) FROM timers WHERE run IS NOT NULL GROUP BY key
  ${EARLIER}`;
// a key that had its turn by a clock that was ahead
const REPAIR = `UPDATE timer_keys SET due = ? WHERE due > ? AND EXISTS
  (SELECT 1 FROM timers WHERE timers.key = timer_keys.key AND timers.due <= ?)`;
const NEXT = "SELECT MIN(due) AS due FROM timer_keys WHERE due > ?";

/**
 * Creates the keys of a database that serves many of them.
 *
 * @param isShared true if several processes claim timers at once
 */
export function createTimerKeys(isShared: boolean): TimerKeys {
  const findDue = isShared ? `${FIND_DUE} FOR UPDATE SKIP LOCKED` : FIND_DUE;
  return {
    tables: TABLES,
    touch: (query, key, due) => query(TOUCH, key, due),
    lock: async (query, key) =>
      isShared && (await query("SELECT key FROM timer_keys WHERE key = ? FOR UPDATE", key)),
    async findDue(query: Query, now, busy, limit) {
      const left = [...busy, ...Array<string>(MAX_BUSY_KEYS).fill("")].slice(0, MAX_BUSY_KEYS);
      return await query(findDue, now, ...left, limit);
    },
    endTurn: (query, key, now) =>
      Promise.all([query(END_TURN, key, now, key, now, key), query(DROP, key, key)]),
    recover: (query) => query(RECOVER),
    repair: (query, now) => query(REPAIR, now, now, now),
    async readNext(query, now) {
      const [row] = await query<{ due: number | null }>(NEXT, now);
      return row?.due ?? null;
    },
  };
}

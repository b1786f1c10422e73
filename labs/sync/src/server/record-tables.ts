import type { ObjectSQL } from "@sluice/durable/internal";

/**
 * Records by their versions, each of which is given once; what was removed, so that a device that was away hears of it;
 * and leases. `state` is one row, and is there for as long as anything is.
 */
export const RECORD_TABLES: readonly string[] = [
  "CREATE TABLE records (version INTEGER PRIMARY KEY, key TEXT, bytes INTEGER, value TEXT)",
  "CREATE UNIQUE INDEX recordsByKey ON records (key)",
  "CREATE TABLE removed (version INTEGER PRIMARY KEY, key TEXT, bytes INTEGER, at INTEGER)",
  "CREATE UNIQUE INDEX removedByKey ON removed (key)",
  "CREATE TABLE leases (name TEXT PRIMARY KEY, device TEXT, endsAt INTEGER) WITHOUT ROWID",
];
export const STATE_TABLE = `CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1), user TEXT, userName TEXT, conversation TEXT,
  version INTEGER, floor INTEGER, bytes INTEGER, records INTEGER, removals INTEGER,
  granted INTEGER, noted INTEGER, touchedAt INTEGER, goneAt INTEGER,
  news INTEGER NOT NULL DEFAULT 0)`;

/** The user and the conversation that an object is of. */
export interface Owner {
  /** The id of the user, for events. */
  readonly user: string;
  /** The user's part of the object's name. */
  readonly userName: string;
  /** The app's id of the conversation; `~index` for the index of the user. */
  readonly conversation: string;
}

/** The only row of `state`. */
export interface CollectionState extends Owner {
  /** The highest version so far. The first one is a time, so that it is above those of anything that was here before. */
  version: number;
  /** Changes up to this version are not known one by one any more. */
  floor: number;
  /** Size of records and of what is remembered of removed ones. */
  bytes: number;
  records: number;
  /** Number of rows of `removed`. */
  removals: number;
  /** Bytes that the index has set aside for this conversation; in the index those of all conversations together. */
  granted: number;
  /** The version up to which the index knows the texts. */
  noted: number;
  /** Time of the last change, in Unix milliseconds. */
  touchedAt: number;
  /** Time of the removal for good; null before. */
  goneAt: number | null;
  /** Version of the newest finished answer; 0 for none. */
  news: number;
}

const COLUMNS = [
  "version",
  "floor",
  "bytes",
  "records",
  "removals",
  "granted",
  "noted",
  "touchedAt",
  "goneAt",
  "news",
];

/** Reads the state of an object whose tables are there; undefined for an empty one. */
export function readState(sql: ObjectSQL): CollectionState | undefined {
  const [row] = sql.exec("SELECT * FROM state").toArray();
  return row as CollectionState | undefined;
}

/** Writes the state of an object. */
export function writeState(sql: ObjectSQL, state: CollectionState): void {
  const sets = COLUMNS.map((name) => `${name} = ?`).join(", ");
  const values = COLUMNS.map((name) => state[name as keyof CollectionState]);
  sql.exec(`UPDATE state SET ${sets}`, ...values);
}

/** Makes the state of an object that begins. */
export function beginState(sql: ObjectSQL, owner: Owner, now: number): CollectionState {
  const { user, userName, conversation } = owner;
  sql.exec(
    `INSERT INTO state
      (id, user, userName, conversation, version, floor, bytes, records, removals, granted, noted, touchedAt)
      VALUES (1, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)`,
    user,
    userName,
    conversation,
    now,
    now,
    now,
    now,
  );
  return readState(sql) as CollectionState;
}

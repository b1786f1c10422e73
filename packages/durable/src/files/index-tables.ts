import type { ObjectSQL } from "../objects/object.js";
import type { TableSteps } from "../objects/tables.js";

/**
 * A row for each file, one for each file that is to be copied, and one row of sums, which triggers keep: no request reads
 * rows in proportion to the files.
 */
export const INDEX_TABLES: TableSteps = {
  first: "files",
  steps: [
    [
      `CREATE TABLE files (id TEXT PRIMARY KEY, bytes INTEGER, type TEXT, expiresAt INTEGER, received INTEGER,
        isWhole INTEGER, claimed INTEGER, uploadId TEXT, parts TEXT, source TEXT UNIQUE, isCount INTEGER)`,
      `CREATE TABLE copies (source TEXT PRIMARY KEY, id TEXT, userId TEXT, url TEXT, attempts INTEGER, nextAt INTEGER,
        isOver INTEGER, isPaid INTEGER)`,
    ],
    [
      "ALTER TABLE files ADD COLUMN isCopy INTEGER NOT NULL DEFAULT 0",
      // older rows do not say what a file is that is only counted
      "UPDATE files SET isCopy = 1 WHERE source IS NOT NULL OR isCount = 1",
      "CREATE INDEX files_by_end ON files (isCount, expiresAt)",
      "ALTER TABLE copies ADD COLUMN taskId TEXT",
      "CREATE INDEX copies_by_time ON copies (isOver, nextAt)",
      "CREATE INDEX copies_by_id ON copies (id)",
      `CREATE TABLE sums (id INTEGER PRIMARY KEY CHECK (id = 1), files INTEGER, bytes INTEGER, uploadBytes INTEGER,
        jobs INTEGER)`,
      `INSERT INTO sums SELECT 1, count(*), total(bytes), total(bytes) FILTER (WHERE isCopy = 0),
        (SELECT count(*) FROM copies WHERE isOver = 0) FROM files`,
      `CREATE TRIGGER file_added AFTER INSERT ON files BEGIN UPDATE sums SET files = files + 1,
        bytes = bytes + NEW.bytes, uploadBytes = uploadBytes + iif(NEW.isCopy, 0, NEW.bytes); END`,
      `CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN UPDATE sums SET files = files - 1,
        bytes = bytes - OLD.bytes, uploadBytes = uploadBytes - iif(OLD.isCopy, 0, OLD.bytes); END`,
      `CREATE TRIGGER job_added AFTER INSERT ON copies WHEN NEW.isOver = 0
        BEGIN UPDATE sums SET jobs = jobs + 1; END`,
      `CREATE TRIGGER job_ended AFTER UPDATE OF isOver ON copies WHEN OLD.isOver = 0 AND NEW.isOver = 1
        BEGIN UPDATE sums SET jobs = jobs - 1; END`,
    ],
    ["ALTER TABLE files ADD COLUMN claimedUntil INTEGER NOT NULL DEFAULT 0"],
    [
      "ALTER TABLE files ADD COLUMN userId TEXT",
      "ALTER TABLE copies ADD COLUMN notedAt INTEGER NOT NULL DEFAULT 0",
      "UPDATE copies SET notedAt = nextAt WHERE isOver = 0",
      "ALTER TABLE sums ADD COLUMN erasedAt INTEGER NOT NULL DEFAULT 0",
      // a row without bytes is only there until the bucket has deleted its file
      "DROP TRIGGER file_added",
      "DROP TRIGGER file_removed",
      `CREATE TRIGGER file_added AFTER INSERT ON files BEGIN UPDATE sums SET files = files + (NEW.bytes > 0),
        bytes = bytes + NEW.bytes, uploadBytes = uploadBytes + iif(NEW.isCopy, 0, NEW.bytes); END`,
      `CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN UPDATE sums SET files = files - (OLD.bytes > 0),
        bytes = bytes - OLD.bytes, uploadBytes = uploadBytes - iif(OLD.isCopy, 0, OLD.bytes); END`,
      "UPDATE sums SET files = (SELECT count(*) FROM files WHERE bytes > 0)",
      `CREATE TRIGGER job_removed AFTER DELETE ON copies WHEN OLD.isOver = 0
        BEGIN UPDATE sums SET jobs = jobs - 1; END`,
    ],
    [
      "ALTER TABLE files ADD COLUMN isDropped INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE files ADD COLUMN removals INTEGER NOT NULL DEFAULT 0",
      "UPDATE files SET isDropped = 1 WHERE bytes = 0",
    ],
  ],
};

/** Returns the first time in a table, by its index of a flag and the time: without the flag, all rows would be read. */
export function firstTime(sql: ObjectSQL, table: string, flag: string, time: string): number | null {
  const first = (value: 0 | 1) => `SELECT min(${time}) AS at FROM ${table} WHERE ${flag} = ${value}`;
  const [row] = sql.exec(`SELECT min(at) AS at FROM (${first(0)} UNION ALL ${first(1)})`).toArray();
  return (row?.["at"] ?? null) as number | null;
}

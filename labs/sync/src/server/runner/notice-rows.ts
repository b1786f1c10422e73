import type { ObjectSQL } from "@sluice/durable/internal";
import type { EndedTurn } from "./ended-turn.js";

/** The table of ends that are still to be told of: an outbox, written in the transaction of the end. */
export const NOTICE_TABLES: readonly string[] = [
  "CREATE TABLE notices (id TEXT PRIMARY KEY, nextAt INTEGER, ended TEXT, progress TEXT) WITHOUT ROWID",
  "CREATE INDEX noticesByTime ON notices (nextAt)",
];

/** Most ends that one alarm tells of. */
const STEP = 10;

/** An end as it is stored. */
export type KeptEnd = Omit<EndedTurn, "id" | "title" | "text" | "event">;

/** An end, and how far the telling has come. */
export interface NoticeRow {
  readonly ended: KeptEnd;
  readonly progress: unknown;
}

/** Opens the ends of an object whose tables are there. */
export function openNoticeRows(sql: ObjectSQL) {
  return {
    count: () => Number(sql.exec("SELECT count(*) AS number FROM notices").toArray()[0]?.["number"]),
    add(ended: KeptEnd): void {
      const put = "INSERT OR IGNORE INTO notices VALUES (?, ?, ?, NULL)";
      sql.exec(put, ended.turnId, ended.endedAt, JSON.stringify(ended));
    },
    due: (now: number) => rowsOf("WHERE nextAt <= ? ORDER BY nextAt LIMIT ?", now, STEP),
    all: () => rowsOf(""),
    nextAt(): number | undefined {
      const [row] = sql.exec("SELECT nextAt FROM notices ORDER BY nextAt LIMIT 1").toArray();
      return row && Number(row["nextAt"]);
    },
    save(id: string, progress: unknown): void {
      sql.exec("UPDATE notices SET progress = ? WHERE id = ?", JSON.stringify(progress), id);
    },
    /** Notes the time of the next attempt; without one all is done. */
    wait(id: string, nextAt: number | undefined): void {
      if (nextAt === undefined) sql.exec("DELETE FROM notices WHERE id = ?", id);
      else sql.exec("UPDATE notices SET nextAt = ? WHERE id = ?", nextAt, id);
    },
  };

  function rowsOf(which: string, ...values: unknown[]): readonly NoticeRow[] {
    return sql
      .exec(`SELECT ended, progress FROM notices ${which}`, ...values)
      .toArray()
      .map(({ ended, progress }) => ({
        ended: JSON.parse(String(ended)) as KeptEnd,
        progress: progress === null ? undefined : JSON.parse(String(progress)),
      }));
  }
}

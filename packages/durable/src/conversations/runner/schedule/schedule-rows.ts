import type { ObjectSQL } from "../../../objects/object.js";
import type { Schedule } from "./shape.js";

/**
 * The table of schedules. `dueAt` is the next start, and null for one that has ended; `wakeAt` the time at which the
 * object looks at it: later than `dueAt` where the conversation is busy.
 */
export const SCHEDULE_TABLES: readonly string[] = [
  "CREATE TABLE schedules (id TEXT PRIMARY KEY, dueAt INTEGER, wakeAt INTEGER, endedAt INTEGER, schedule TEXT) WITHOUT ROWID",
  "CREATE INDEX schedulesByWake ON schedules (wakeAt) WHERE wakeAt IS NOT NULL",
  "CREATE INDEX schedulesByEnd ON schedules (endedAt) WHERE endedAt IS NOT NULL",
];

/** Schedules that have ended are known for this time, in milliseconds, and so many of one conversation. */
const KNOWN_MS = 30 * 86_400_000;
const MOST_ENDED = 50;
/** Most schedules that one alarm starts. */
const STEP = 10;

/** Opens the schedules of an object whose tables are there. */
export function openScheduleRows(sql: ObjectSQL) {
  const all = (query: string, ...values: unknown[]) =>
    sql
      .exec(`SELECT schedule FROM schedules ${query}`, ...values)
      .toArray()
      .map(({ schedule }) => JSON.parse(String(schedule)) as Schedule);
  return {
    find: (id: string): Schedule | undefined => all("WHERE id = ?", id)[0],
    /** The newest first. */
    list: () => all("").sort((one, other) => other.createdAt - one.createdAt),
    due: (now: number) => all("WHERE wakeAt <= ? ORDER BY wakeAt LIMIT ?", now, STEP),
    nextWake: () => timeIn("SELECT min(wakeAt) AS at FROM schedules WHERE wakeAt IS NOT NULL"),
    keep,
    postpone: (id: string, wakeAt: number) =>
      void sql.exec("UPDATE schedules SET wakeAt = ? WHERE id = ? AND wakeAt IS NOT NULL", wakeAt, id),
    /** Looks anew at those that wait. Returns true if there are some. */
    wakeWaiting(now: number): boolean {
      const waiting = "wakeAt > ? AND dueAt <= ?";
      return (
        sql.exec(`UPDATE schedules SET wakeAt = dueAt WHERE ${waiting} RETURNING 1`, now, now).toArray()
          .length > 0
      );
    },
    forgetEnded,
  };

  function timeIn(query: string): number | undefined {
    const [row] = sql.exec(query).toArray();
    return row?.["at"] == null ? undefined : Number(row["at"]);
  }

  function keep(schedule: Schedule): void {
    const { id, nextAt, endedAt = null } = schedule;
    const put = "INSERT OR REPLACE INTO schedules VALUES (?, ?, ?, ?, ?)";
    sql.exec(put, id, nextAt, nextAt, endedAt, JSON.stringify(schedule));
  }

  /** Forgets those that ended long ago, or are too many. Returns their ids. */
  function forgetEnded(now: number): readonly string[] {
    const over = "SELECT id FROM schedules WHERE endedAt IS NOT NULL ORDER BY endedAt DESC LIMIT -1 OFFSET ?";
    const old = "SELECT id FROM schedules WHERE endedAt <= ?";
    const ids = [...sql.exec(over, MOST_ENDED).toArray(), ...sql.exec(old, now - KNOWN_MS).toArray()];
    return [...new Set(ids.map(({ id }) => String(id)))].map((id) => {
      sql.exec("DELETE FROM schedules WHERE id = ?", id);
      return id;
    });
  }
}

/** Counts the schedules of an object that have not ended. */
export function countSchedules(sql: ObjectSQL): number {
  const [row] = sql.exec("SELECT count(*) AS number FROM schedules WHERE wakeAt IS NOT NULL").toArray();
  return Number(row?.["number"] ?? 0);
}

/** Most letters of a title. */
const LONGEST_TITLE = 60;

/** Returns what the index of the user has to know of the schedules: their number, and a title for the conversation. */
export function notedSchedules(sql: ObjectSQL): { readonly schedules: number; readonly title?: string } {
  const rows = sql.exec("SELECT wakeAt, schedule FROM schedules").toArray();
  const known = rows.map(({ schedule }) => JSON.parse(String(schedule)) as Schedule);
  const first = known.find(({ code }) => code !== "removed");
  const schedules = rows.filter(({ wakeAt }) => wakeAt !== null).length;
  return { schedules, ...(first && { title: titleOf(first) }) };
}

/** Returns the title of a schedule, or the first line of what it asks for. */
function titleOf(schedule: Schedule): string {
  const text = schedule.title ?? askedIn(schedule);
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "";
  const letters = [...line.trim()];
  return letters.length <= LONGEST_TITLE
    ? letters.join("")
    : `${letters.slice(0, LONGEST_TITLE - 1).join("")}…`;
}

function askedIn(schedule: Schedule): string {
  if ("message" in schedule) return schedule.message.content;
  return "image" in schedule ? schedule.image.prompt : schedule.video.prompt;
}

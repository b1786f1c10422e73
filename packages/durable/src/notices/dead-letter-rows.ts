import type { ObjectStorage } from "../objects/object.js";
import { createTables, type TableSteps } from "../objects/tables.js";

/** A notice that was given up. */
export interface DeadLetter {
  /** Of the notice and its receiver: the same each time that the notice is given up. */
  readonly id: string;
  /** The follow-up: `webhook`, or one of your own. */
  readonly name: string;
  /** The id that `authenticate` returned. */
  readonly user: string;
  /** The gateway's id of the video task. */
  readonly taskId?: string | undefined;
  readonly model?: string | undefined;
  /** The `x-request-id` of the create. */
  readonly requestId?: string | undefined;
  readonly attempts: number;
  /** The last status of the receiver; absent where none answered. */
  readonly upstreamStatus?: number | undefined;
  /** Time at which it was given up, in milliseconds since 1970. */
  readonly at: number;
}

/** A letter with the name of the object that has the notice. */
export interface KeptLetter extends DeadLetter {
  readonly object: string;
}

/** A letter with its place in the list. */
export interface PlacedLetter extends KeptLetter {
  readonly place: number;
}

const TABLES: TableSteps = {
  first: "letters",
  isShared: true,
  steps: [
    [
      `CREATE TABLE letters (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, user TEXT, at INTEGER, letter TEXT)`,
      "CREATE INDEX letters_user ON letters (user)",
      "CREATE INDEX letters_at ON letters (at)",
      // the number of letters, and the places of those that are to be sent again
      "CREATE TABLE work (id INTEGER PRIMARY KEY CHECK (id = 1), letters INTEGER, nextPlace INTEGER, lastPlace INTEGER)",
      "INSERT INTO work VALUES (1, 0, 1, 0)",
    ],
  ],
};

/** Time for which a letter is kept. */
export const LETTER_KEPT_MS = 7 * 24 * 60 * 60_000;
/** Most letters of one namespace. */
const MOST_LETTERS = 10_000;
/** Letters that are deleted in one step. */
const STEP = 500;

/** Opens the rows of dead letters: the work of each step stays the same, however many are stored. */
export function openDeadLetterRows({ sql, ...storage }: Pick<ObjectStorage, "sql" | "deleteAll">) {
  const tables = createTables({ sql, deleteAll: storage.deleteAll }, TABLES);
  const rows = (query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray();
  return { exist: tables.exist, keep, find, list, remove, removeUser, removeOld, plan, planned, next };

  /** Keeps a letter, in the place of an earlier one with its id. Returns those that made room for it. */
  function keep({ id, user, at, ...letter }: KeptLetter): readonly PlacedLetter[] {
    tables.create();
    const before = find(id);
    if (before) remove(before.place);
    sql.exec(
      "INSERT INTO letters (id, user, at, letter) VALUES (?, ?, ?, ?)",
      id,
      user,
      at,
      JSON.stringify(letter),
    );
    count(1);
    const [{ letters = 0 } = {}] = rows("SELECT letters FROM work");
    const over = Number(letters) - MOST_LETTERS;
    const oldest = over > 0 ? list(0, over) : [];
    for (const one of oldest) remove(one.place);
    return oldest;
  }

  function find(id: string): PlacedLetter | undefined {
    return tables.exist() ? rows("SELECT * FROM letters WHERE id = ?", id).map(letterIn)[0] : undefined;
  }

  function list(after: number, most: number, last = Number.MAX_SAFE_INTEGER): readonly PlacedLetter[] {
    if (!tables.exist()) return [];
    const query = "SELECT * FROM letters WHERE place > ? AND place <= ? ORDER BY place LIMIT ?";
    return rows(query, after, last, most).map(letterIn);
  }

  function remove(place: number): void {
    count(-rows("DELETE FROM letters WHERE place = ? RETURNING 1", place).length);
  }

  function removeUser(user: string): void {
    if (tables.exist()) count(-rows("DELETE FROM letters WHERE user = ? RETURNING 1", user).length);
  }

  function removeOld(now: number): void {
    const old = "SELECT place FROM letters WHERE at <= ? ORDER BY at LIMIT ?";
    count(
      -rows(`DELETE FROM letters WHERE place IN (${old}) RETURNING 1`, now - LETTER_KEPT_MS, STEP).length,
    );
  }

  function count(more: number): void {
    if (more !== 0) sql.exec("UPDATE work SET letters = letters + ?", more);
  }

  /** Notes which letters are to be sent again: those of now since a time. */
  function plan(since: number): void {
    if (!tables.exist()) return;
    const first = "SELECT place FROM letters WHERE at >= ? ORDER BY at, place LIMIT 1";
    const last = "SELECT max(place) FROM letters";
    sql.exec(
      `UPDATE work SET nextPlace = coalesce((${first}), (${last}) + 1, 1), lastPlace = coalesce((${last}), 0)`,
      since,
    );
  }

  /** Notes that all up to a place were sent again. */
  function planned(place: number): void {
    sql.exec("UPDATE work SET nextPlace = ?", place + 1);
  }

  /** Returns the places that are to be sent again, and the time at which the oldest letter is over. */
  function next() {
    const [work] = rows("SELECT nextPlace, lastPlace FROM work");
    const [oldest] = rows("SELECT at FROM letters ORDER BY at LIMIT 1");
    return {
      first: Number(work?.["nextPlace"]),
      last: Number(work?.["lastPlace"]),
      endsAt: oldest && Number(oldest["at"]) + LETTER_KEPT_MS,
    };
  }
}

function letterIn({ letter, ...row }: Record<string, unknown>): PlacedLetter {
  return { ...(JSON.parse(letter as string) as KeptLetter), ...row } as PlacedLetter;
}

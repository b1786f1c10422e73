import type { ObjectSQL, ObjectStorage } from "./object.js";

/** The tables of an object. Nothing is created before it is needed: an object that is only read leaves nothing behind. */
export interface Tables {
  /** Creates the tables, or brings those of an older version of this package up to date. */
  create(): void;
  /** Returns true if there are tables, which are up to date then. */
  exist(): boolean;
  /** Deletes everything that the object has stored, its alarm included. */
  deleteAll(): Promise<void>;
}

/** Changes of the tables, the oldest first. One that has been released is never changed; another one is added. */
export interface TableSteps {
  /** A table that the first version of this package had, when no version was stored; the object has version 1 then. */
  readonly first: string;
  /**
   * True where objects of the same class may have other tables instead, with a version of their own: these are there
   * if `first` is, which then stays for all versions. @default false
   */
  readonly isShared?: boolean;
  /** Statements that lead from the version before: the first ones from nothing to version 1. */
  readonly steps: readonly (readonly string[])[];
  /** Statements that make the newest tables at once, where there are none. @default all steps */
  readonly newest?: readonly string[];
  /** True where version 1 is not stored, since the first table says it: three rows fewer for each object. @default false */
  readonly isImplied?: boolean;
}

/**
 * Keeps the tables of an object and their version, in a table of one row: the platform allows no `user_version`.
 *
 * @throws {Error} for rows of a later version: after a step back of a deploy, nothing is read wrongly or changed
 */
export function createTables(
  { sql, ...storage }: TablesStorage,
  { first, isShared = false, steps, newest = steps.flat(), isImplied = false }: TableSteps,
): Tables {
  // known for as long as the object lives: a row less to read in each request
  let isUpToDate = false;
  return {
    create: () => bringUpToDate(),
    exist() {
      if (!isUpToDate && hasTable(sql, first, ...(isShared ? [] : ["version"]))) bringUpToDate();
      return isUpToDate;
    },
    async deleteAll() {
      isUpToDate = false;
      await storage.deleteAll();
    },
  };

  function bringUpToDate(): void {
    if (isUpToDate) return;
    const version = versionNow();
    if (version > steps.length)
      throw new Error(
        `the rows have version ${version}, and this Worker knows ${steps.length}: deploy the newer one`,
      );
    for (const statement of version === 0 ? newest : steps.slice(version).flat()) sql.exec(statement);
    isUpToDate = true;
    if (isImplied && steps.length === 1) return;
    sql.exec("CREATE TABLE IF NOT EXISTS version (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER)");
    if (version < steps.length) sql.exec("INSERT OR REPLACE INTO version VALUES (1, ?)", steps.length);
  }

  function versionNow(): number {
    if (!hasTable(sql, "version")) return hasTable(sql, first) ? 1 : 0;
    const [row] = sql.exec("SELECT number FROM version").toArray();
    return Number(row?.["number"] ?? 0);
  }
}

type TablesStorage = { readonly sql: ObjectSQL; readonly deleteAll: ObjectStorage["deleteAll"] };

function hasTable(sql: ObjectSQL, ...names: readonly string[]): boolean {
  const marks = names.map(() => "?").join(", ");
  const found = sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN (${marks})`, ...names);
  return found.toArray().length > 0;
}

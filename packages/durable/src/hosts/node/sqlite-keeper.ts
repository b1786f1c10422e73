import { DatabaseSync } from "node:sqlite";
import type { Changes, Keeper, KeptObject, ObjectName } from "../process/keeper.js";
import { type RowText, rowOfText, textOfRow } from "../process/row-text.js";

/** Tables of the file, and their later changes. One that has been released is never changed; another one is added. */
const STEPS = [
  `CREATE TABLE objects (id INTEGER PRIMARY KEY, binding TEXT, name TEXT, schema TEXT, alarm INTEGER,
     UNIQUE (binding, name));
   CREATE INDEX objects_by_alarm ON objects (alarm) WHERE alarm IS NOT NULL;
   CREATE TABLE rows (object INTEGER, place TEXT, tableName TEXT, row TEXT, bytes BLOB, UNIQUE (object, place));`,
];

/**
 * Keeps objects in one file of SQLite, which one process has at a time.
 *
 * @param path the file, which is made where it is missing; `:memory:` for a process that keeps nothing
 * @throws {Error} where another process has it, or a later version of this package wrote it
 */
export function openSQLiteKeeper(path: string): Keeper {
  const file = openFile(path);
  const find = file.prepare("SELECT id, schema, alarm FROM objects WHERE binding = ? AND name = ?");
  const rowsOf = file.prepare('SELECT place, tableName AS "table", row, bytes FROM rows WHERE object = ?');
  const add = file.prepare("INSERT INTO objects (binding, name, schema) VALUES (?, ?, '[]') RETURNING id");
  const drop = file.prepare("DELETE FROM objects WHERE id = ?");
  const setSchema = file.prepare("UPDATE objects SET schema = ? WHERE id = ?");
  const setAlarm = file.prepare("UPDATE objects SET alarm = ? WHERE id = ?");
  const clear = file.prepare("DELETE FROM rows WHERE object = ?");
  const put = file.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)");
  const remove = file.prepare("DELETE FROM rows WHERE object = ? AND place = ?");
  const isEmpty = file.prepare("SELECT 1 FROM objects WHERE id = ? AND schema = '[]' AND alarm IS NULL");
  const first = file.prepare(
    "SELECT binding, name, alarm FROM objects WHERE alarm IS NOT NULL ORDER BY alarm LIMIT ?",
  );
  return {
    open: async (object) => open(object),
    due: async (most) => dueOf(most),
    close: async () => file.close(),
  };

  function dueOf(most: number) {
    const now = Date.now();
    const rows = first.all(most + 1) as unknown as (ObjectName & { readonly alarm: number })[];
    const objects = rows.slice(0, most).filter(({ alarm }) => alarm <= now);
    return { objects, next: rows[objects.length]?.alarm ?? null };
  }

  function open({ binding, name }: ObjectName): KeptObject {
    const found = find.get(binding, name);
    let id = found ? Number(found["id"]) : undefined;
    const stored = {
      schema: JSON.parse(String(found?.["schema"] ?? "[]")) as string[],
      rows: id === undefined ? [] : (rowsOf.all(id) as unknown as RowText[]).map(rowOfText),
      alarm: (found?.["alarm"] ?? null) as number | null,
    };
    return { stored, write, isOurs: () => true, close: async () => {} };

    async function write(changes: Changes): Promise<void> {
      const now = id ?? Number(add.get(binding, name)?.["id"]);
      transaction(file, () => apply(now, changes));
      // what has nothing leaves nothing behind
      id = isEmpty.get(now) ? void drop.run(now) : now;
    }
  }

  function apply(object: number, { schema, rows, removed, alarm }: Changes): void {
    if (schema) {
      setSchema.run(JSON.stringify(schema), object);
      clear.run(object);
    }
    for (const place of removed) remove.run(object, place);
    for (const { place, table, row, bytes } of rows.map(textOfRow)) put.run(object, place, table, row, bytes);
    if (alarm !== undefined) setAlarm.run(alarm, object);
  }
}

/** Opens the file for this process alone: an object that two processes wrote would pay twice. */
function openFile(path: string): DatabaseSync {
  const file = new DatabaseSync(path);
  try {
    file.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    bringUpToDate(file, path);
    return file;
  } catch (error) {
    file.close();
    if (!/locked|busy/i.test(String(error))) throw error;
    throw new Error(`${path}: another process has this file; stop that one, or use Postgres for several`, {
      cause: error,
    });
  }
}

function bringUpToDate(file: DatabaseSync, path: string): void {
  const version = Number(file.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (version > STEPS.length)
    throw new Error(`${path}: a later version of @sluice/durable wrote it; use that one, or another file`);
  transaction(file, () => {
    for (const step of STEPS.slice(version)) file.exec(step);
    file.exec(`PRAGMA user_version = ${STEPS.length}`);
  });
}

function transaction(file: DatabaseSync, change: () => void): void {
  file.exec("BEGIN IMMEDIATE");
  try {
    change();
    file.exec("COMMIT");
  } catch (error) {
    // a full disk may have ended it already
    if (file.isTransaction) file.exec("ROLLBACK");
    throw error;
  }
}

import type { Changes, DueAlarms, Keeper, KeptObject, ObjectName } from "../process/keeper.js";
import { type RowText, rowOfText, textOfRow } from "../process/row-text.js";
import type { OpenStore, Stores } from "./stores.js";

/** An object as the database has it. */
interface ObjectEntry extends ObjectName {
  readonly schema: readonly string[];
  /** Absent without an alarm: then the index has no entry. */
  readonly alarm?: number;
}

/** Keeps objects in an IndexedDB database, which one process has at a time. */
export function openDatabaseKeeper(stores: Stores): Keeper {
  return { open, due, close: stores.close };

  async function open(object: ObjectName): Promise<KeptObject> {
    const [entry, rows] = await Promise.all([
      stores.read("objects", (store) => store.get(keyOf(object)) as IDBRequest<ObjectEntry | undefined>),
      stores.read("rows", (store) => store.getAll(rowsOf(object)) as IDBRequest<RowText[]>),
    ]);
    let now: ObjectEntry = entry ?? { ...object, schema: [] };
    const stored = { schema: now.schema, rows: rows.map(rowOfText), alarm: now.alarm ?? null };
    return { stored, write, isOurs: () => true, close: async () => {} };

    async function write(changes: Changes): Promise<void> {
      const next = changed(now, changes);
      await stores.write(["objects", "rows"], (store) => put(store, next, changes));
      now = next;
    }
  }

  async function due(most: number): Promise<DueAlarms> {
    const first = await stores.read(
      "objects",
      (store) => store.index("alarm").getAll(null, most + 1) as IDBRequest<Required<ObjectEntry>[]>,
    );
    const now = Date.now();
    const objects = first.slice(0, most).filter(({ alarm }) => alarm <= now);
    return {
      objects: objects.map(({ binding, name }) => ({ binding, name })),
      next: first[objects.length]?.alarm ?? null,
    };
  }
}

function changed({ alarm: before, ...entry }: ObjectEntry, { schema, alarm }: Changes): ObjectEntry {
  const next = alarm === undefined ? before : alarm;
  return { ...entry, ...(schema && { schema }), ...(typeof next === "number" && { alarm: next }) };
}

function put(store: OpenStore, entry: ObjectEntry, { schema, rows, removed }: Changes): void {
  const all = store("rows");
  if (schema) all.delete(rowsOf(entry));
  for (const place of removed) all.delete([...keyOf(entry), place]);
  for (const row of rows.map(textOfRow)) all.put(row, [...keyOf(entry), row.place]);
  // what has nothing leaves nothing behind
  if (entry.schema.length === 0 && entry.alarm === undefined) store("objects").delete(keyOf(entry));
  else store("objects").put(entry);
}

const keyOf = ({ binding, name }: ObjectName) => [binding, name];

/** All rows of an object: a list comes behind every text. */
function rowsOf(object: ObjectName): IDBKeyRange {
  return IDBKeyRange.bound(keyOf(object), [...keyOf(object), []]);
}

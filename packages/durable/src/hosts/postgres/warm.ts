import {
  type Changes,
  type KeptObject,
  keyOf,
  type ObjectName,
  type StoredObject,
  type StoredRow,
} from "../process/keeper.js";

/** Objects that have left memory and stay this process's for a while: one that is asked again needs no query. */
export interface WarmObjects {
  /** Keeps an object that leaves memory. Returns false where it has to be given up. */
  keep(object: ObjectName, kept: Omit<WarmObject, "stored">, followed: Followed): boolean;
  /** Takes an object back. */
  take(object: ObjectName): KeptObject | undefined;
  /** Gives up the objects whose time is over. */
  cool(): void;
}

/** Contents of an object; nothing once they are large. */
export interface Followed {
  change(changes: Changes): void;
  stored(): StoredObject | undefined;
}

/** Time for which an object stays: longer than most answers, at whose end their user's objects are asked again. */
const WARM_MS = 60_000;
/** Most objects, and the most characters of one. */
const MOST = 5_000;
const MOST_CHARACTERS = 4_096;

/** An object that has left memory. */
interface WarmObject extends KeptObject {
  /** Leaves it to other processes. */
  giveUp(): void;
}

export function openWarmObjects(): WarmObjects {
  const warm = new Map<string, { kept: WarmObject; until: number }>();
  return { keep, take, cool };

  function keep(object: ObjectName, kept: Omit<WarmObject, "stored">, followed: Followed): boolean {
    const stored = followed.stored();
    const isEmpty = stored?.schema.length === 0 && stored.alarm === null;
    if (!stored || isEmpty || !kept.isOurs()) return false;
    warm.set(keyOf(object), { kept: { ...kept, stored }, until: Date.now() + WARM_MS });
    if (warm.size > MOST) drop(warm.keys().next().value);
    return true;
  }

  function take(object: ObjectName): KeptObject | undefined {
    const key = keyOf(object);
    const found = warm.get(key)?.kept;
    warm.delete(key);
    return found?.isOurs() ? found : undefined;
  }

  function cool(): void {
    // the first ones have been here the longest
    for (const [key, { until }] of warm) {
      if (until > Date.now()) return;
      drop(key);
    }
  }

  function drop(key: string | undefined): void {
    const found = key !== undefined && warm.get(key);
    if (!found) return;
    warm.delete(key);
    found.kept.giveUp();
  }
}

/** Begins to follow what an object stores, if that is little. */
export function follow({ schema, rows, alarm }: StoredObject): Followed {
  let now: { schema: readonly string[]; rows: Map<string, StoredRow>; alarm: number | null } | undefined;
  now = { schema, rows: new Map(), alarm };
  add(rows);
  return {
    change(changes) {
      if (!now) return;
      if (changes.schema) now = { ...now, schema: changes.schema, rows: new Map() };
      if (changes.alarm !== undefined) now.alarm = changes.alarm;
      for (const place of changes.removed) now.rows.delete(place);
      add(changes.rows);
    },
    stored: () => now && { ...now, rows: [...now.rows.values()] },
  };

  function add(added: readonly StoredRow[]): void {
    for (const row of added) now?.rows.set(row.place, row);
    let characters = 0;
    for (const row of now?.rows.values() ?? []) {
      characters += sizeOf(row);
      if (characters <= MOST_CHARACTERS) continue;
      now = undefined;
      return;
    }
  }
}

function sizeOf({ place, values }: StoredRow): number {
  const sizes = values.map((value) =>
    value instanceof Uint8Array ? value.byteLength : String(value).length,
  );
  return sizes.reduce((sum, size) => sum + size, place.length);
}

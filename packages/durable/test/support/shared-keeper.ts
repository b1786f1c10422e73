import {
  type Changes,
  type DueAlarms,
  type Keeper,
  type KeptElsewhere,
  type KeptObject,
  keyOf,
  type ObjectName,
  type StoredRow,
} from "../../src/hosts/process/keeper.js";

/** Calls of a keeper, as a test sees them. */
export type KeeperCall = "open" | "write" | "give up" | "due" | "close";

/** Makes a call of one process; a test may fail it before or after, or hold it. */
export type Through = <T>(call: KeeperCall, act: () => T) => Promise<T>;

interface Entry {
  readonly name: ObjectName;
  schema: readonly string[];
  readonly rows: Map<string, StoredRow>;
  alarm: number | null;
  owner: string | undefined;
  /** Grows with each owner: a write of an earlier one is refused. */
  fence: number;
}

/** Longest time between two looks for alarms, in milliseconds. */
const LOOK_MS = 5_000;

/** Opens what several processes keep in common, in memory: one owner for each object, and a fence before each write. */
export function openShelf() {
  const entries = new Map<string, Entry>();
  return {
    keeperOf,
    leaseEnds,
    owners: () => [...entries.values()].map(({ name, owner }) => ({ name, owner })),
  };

  /** Lets others take what a process has. */
  function leaseEnds(address: string): void {
    for (const entry of entries.values()) if (entry.owner === address) entry.owner = undefined;
  }

  function keeperOf(address: string, through: Through = async (_, act) => act()): Keeper {
    return {
      open: (name) => through("open", () => open(name)),
      due: (most) => through("due", () => due(most)),
      close: () => through("close", () => leaseEnds(address)),
    };

    function open(name: ObjectName): KeptObject | KeptElsewhere {
      const entry = entryOf(name);
      if (entry.owner !== undefined && entry.owner !== address) return { owner: entry.owner };
      entry.owner = address;
      entry.fence += 1;
      const { fence, schema, rows, alarm } = entry;
      return {
        stored: { schema, rows: [...rows.values()], alarm },
        isOurs: () => true,
        write: (changes) => through("write", () => write(entry, fence, changes)),
        close: () =>
          through("give up", () => {
            if (entry.fence === fence && entry.owner === address) entry.owner = undefined;
          }),
      };
    }

    function due(most: number): DueAlarms {
      const now = Date.now();
      const free = [...entries.values()].filter(({ alarm, owner }) => alarm !== null && isFree(owner));
      const ordered = free.sort((one, other) => Number(one.alarm) - Number(other.alarm));
      const objects = ordered.filter(({ alarm }) => Number(alarm) <= now).slice(0, most);
      // those of others are looked at now and then: a process may be lost
      const next = Math.min(
        Number(ordered[objects.length]?.alarm ?? Number.POSITIVE_INFINITY),
        now + LOOK_MS,
      );
      return { objects: objects.map(({ name }) => name), next };
    }

    function isFree(owner: string | undefined): boolean {
      return owner === undefined;
    }
  }

  function entryOf(name: ObjectName): Entry {
    const key = keyOf(name);
    const entry = entries.get(key) ?? {
      name,
      schema: [],
      rows: new Map(),
      alarm: null,
      owner: undefined,
      fence: 0,
    };
    entries.set(key, entry);
    return entry;
  }
}

function write(entry: Entry, fence: number, { schema, rows, removed, alarm }: Changes): void {
  if (entry.fence !== fence) throw new Error("another process has this object now");
  if (schema) {
    entry.schema = schema;
    entry.rows.clear();
  }
  for (const place of removed) entry.rows.delete(place);
  for (const row of rows) entry.rows.set(row.place, structuredClone(row));
  if (alarm !== undefined) entry.alarm = alarm;
}

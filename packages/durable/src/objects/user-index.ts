import { limited, logError } from "@sluice/worker-proxy/internal";
import { type DurableObjectHandlers, type ObjectNamespace, type ObjectState, objectNamed } from "./object.js";
import { createTables, type TableSteps } from "./tables.js";

/** An object of a user that begins its work. */
interface Claim {
  /** The object's name without the user's part. */
  readonly id: string;
  /** The most objects of the user that may work at a time. @default no limit */
  readonly mostOpen?: number | undefined;
  /** Unix milliseconds at which the place is free again, also where the object was lost. */
  readonly endsAt: number;
}

/** An object of a user whose work is over. */
interface Ending {
  readonly id: string;
  /** Unix milliseconds until which the object keeps something. */
  readonly keptUntil: number;
  /** The most objects of the user that may keep something. @default no limit */
  readonly mostKept?: number | undefined;
}

/** The objects of one user in a namespace: which of them work, and which keep something. All calls can be repeated. */
export interface UserIndex {
  /** Takes a place. Returns false where as many objects work as may; one that has a place already keeps it. */
  claim(claim: Claim): Promise<boolean>;
  /** Gives the place back. Returns the ids of a few of the oldest objects that are too many, to be emptied and forgotten. */
  end(ending: Ending): Promise<readonly string[]>;
  /** Returns up to 100 ids in their order, those behind `after`. */
  list(after?: string): Promise<readonly string[]>;
  /** Forgets objects that keep nothing. The last one takes the index along. */
  forget(ids: readonly string[]): Promise<void>;
}

type Entry =
  | ({ readonly do: "claim" } & Claim)
  | ({ readonly do: "end" } & Ending)
  | { readonly do: "list"; readonly after: string }
  | { readonly do: "forget"; readonly ids: readonly string[] };

const ADDRESS = "https://user-index.invalid/";
/** Longest time for an answer of the index, in milliseconds. */
const ANSWER_MS = 10_000;

/** Gives all ids of an index, in their order. */
export async function* idsIn(index: UserIndex): AsyncGenerator<string> {
  for (let ids = await index.list(); ids.length > 0; ids = await index.list(ids.at(-1))) yield* ids;
}

/**
 * Has each object of an index delete what it keeps, and forgets it. One that fails stays listed, and holds none of the
 * others up.
 *
 * @throws {Error} where some have failed
 */
export async function eraseIn(index: UserIndex, erase: (id: string) => Promise<unknown>): Promise<void> {
  let failed = 0;
  let ids = await index.list();
  while (ids.length > 0) {
    const erased: string[] = [];
    for (const id of ids)
      await erase(id).then(
        () => erased.push(id),
        () => {
          failed += 1;
        },
      );
    await index.forget(erased);
    // again from the start: what begins meanwhile is found, too
    ids = await index.list(failed > 0 ? ids.at(-1) : undefined);
  }
  if (failed > 0) throw new Error(`${failed} objects of a user could not be erased`);
}

/**
 * Opens the index of a user. It is an object of the same class as those that it lists, so that it needs no binding of its
 * own; its name is the user's part of theirs.
 *
 * @param user the hash of the user's id, `hashOf(id)`
 */
export function userIndexIn(namespace: ObjectNamespace, user: string): UserIndex {
  return {
    claim: async (claim) => (await send({ do: "claim", ...claim })) === true,
    end: async (ending) => (await send({ do: "end", ...ending })) as readonly string[],
    list: async (after = "") => (await send({ do: "list", after })) as readonly string[],
    forget: async (ids) => void (await send({ do: "forget", ids })),
  };

  async function send(entry: Entry): Promise<unknown> {
    return await limited(ANSWER_MS, async (signal) => {
      const request = new Request(ADDRESS, { method: "POST", body: JSON.stringify(entry), signal });
      // a new stub for each call: one that has failed stays broken
      const response = await objectNamed(namespace, user).fetch(request);
      if (!response.ok) throw new Error(`the index of a user answered with ${response.status}`);
      return await response.json();
    });
  }
}

/**
 * One row for each object of the user; `endsAt` is the end of its place, or of what it keeps. Those that work are in no
 * index but the key: few of them are there at a time, and an index is a row more for each.
 */
const NEWEST = [
  "CREATE TABLE userObjects (id TEXT, isOpen INTEGER, endsAt INTEGER, PRIMARY KEY (isOpen, id)) WITHOUT ROWID",
  "CREATE INDEX userObjectsKept ON userObjects (endsAt) WHERE isOpen = 0",
];
const TABLES: TableSteps = {
  first: "userObjects",
  isShared: true,
  newest: NEWEST,
  steps: [
    [
      "CREATE TABLE userObjects (id TEXT PRIMARY KEY, isOpen INTEGER, endsAt INTEGER) WITHOUT ROWID",
      "CREATE INDEX userObjectsByEnd ON userObjects (isOpen, endsAt)",
    ],
    [
      "ALTER TABLE userObjects RENAME TO earlier",
      ...NEWEST,
      "INSERT INTO userObjects SELECT * FROM earlier",
      "DROP TABLE earlier",
    ],
  ],
};

/** Objects that keep something, in the order of their ends: the key alone would have all of them read. */
const KEPT = "userObjects INDEXED BY userObjectsKept WHERE isOpen = 0";

/** Most ids of one answer. */
const PAGE = 100;
/** Most objects that one ending empties. */
const FEW = 10;
/** Most rows that one alarm deletes of each kind. */
const BATCH = 500;
/** Time from an end to the alarm, in milliseconds: one alarm deletes all that ended in this time. */
const LATER_MS = 5 * 60 * 1000;
const SOON_MS = 1000;

/**
 * Lets each object of a class also be the index of a user. What an object is depends on what it is asked first; the
 * names keep both apart.
 *
 * @param open opens the object as what it is otherwise
 */
export function withUserIndex(state: ObjectState, open: () => DurableObjectHandlers): DurableObjectHandlers {
  const index = openIndex(state);
  // an object that was lost in its work finds that out as soon as it is there again
  const object = index.exists() ? undefined : open();
  return {
    async fetch(request) {
      if (request.url === ADDRESS) return Response.json((await index.enter(await request.json())) ?? null);
      return await (object ?? open()).fetch(request);
    },
    alarm: () => (index.exists() || !object ? index.alarm() : object.alarm()),
  };
}

function openIndex({ storage }: ObjectState) {
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, TABLES);
  /** Time of the alarm; undefined where it is not known yet. */
  let alarmAt: number | null | undefined;
  /** Id behind which the next alarm looks for lost objects, and the first end of those before it. */
  let seen = { id: "", firstEnd: Number.POSITIVE_INFINITY };
  return { enter, alarm, exists: () => tables.exist() };

  async function enter(entry: Entry): Promise<unknown> {
    if (alarmAt === undefined) alarmAt = await storage.getAlarm();
    // nothing is awaited between a read and its write
    if (entry.do === "claim") return await claim(entry);
    if (entry.do === "end") return await end(entry);
    if (!tables.exist()) return [];
    if (entry.do === "list") return list(entry.after);
    for (const id of entry.ids) sql.exec("DELETE FROM userObjects WHERE isOpen IN (0, 1) AND id = ?", id);
    if (sql.exec("SELECT 1 FROM userObjects LIMIT 1").toArray().length === 0) await deleteAll();
    return [];
  }

  async function claim({ id, mostOpen, endsAt }: Claim): Promise<boolean> {
    // a claim that is refused leaves nothing behind
    if (tables.exist() && hasPlace(id)) return true;
    if (mostOpen !== undefined && (tables.exist() ? open(mostOpen) : 0) >= mostOpen) return false;
    await put(id, 1, endsAt);
    return true;
  }

  async function end({ id, keptUntil, mostKept }: Ending): Promise<readonly string[]> {
    await put(id, 0, keptUntil);
    return mostKept === undefined ? [] : tooMany(mostKept);
  }

  function hasPlace(id: string): boolean {
    const sought = "SELECT 1 FROM userObjects WHERE id = ? AND isOpen = 1 AND endsAt > ?";
    return sql.exec(sought, id, Date.now()).toArray().length > 0;
  }

  /** Counts the objects that work, up to `most`. */
  function open(most: number): number {
    const sought = "SELECT 1 FROM userObjects WHERE isOpen = 1 AND endsAt > ? LIMIT ?";
    return sql.exec(sought, Date.now(), most).toArray().length;
  }

  function tooMany(most: number): readonly string[] {
    const sought = `SELECT id FROM ${KEPT} AND endsAt > ? ORDER BY endsAt DESC LIMIT ? OFFSET ?`;
    return idsOf(sql.exec(sought, Date.now(), FEW, most));
  }

  function list(after: string): readonly string[] {
    const part = (isOpen: 0 | 1) =>
      `SELECT * FROM (SELECT id FROM userObjects WHERE isOpen = ${isOpen} AND id > ?1 ORDER BY id LIMIT ?2)`;
    return idsOf(sql.exec(`${part(0)} UNION ${part(1)} ORDER BY id LIMIT ?2`, after, PAGE));
  }

  /** Writes a row in the turn of its alarm: none is left of which no alarm knows. */
  async function put(id: string, isOpen: 0 | 1, endsAt: number): Promise<void> {
    const isAwake = wakeBy(endsAt + LATER_MS);
    tables.create();
    const moved = "UPDATE OR REPLACE userObjects SET isOpen = ?, endsAt = ? WHERE isOpen = ? AND id = ?";
    sql.exec(moved, isOpen, endsAt, 1 - isOpen, id);
    const changed = "SET endsAt = excluded.endsAt WHERE endsAt <> excluded.endsAt";
    sql.exec(`INSERT INTO userObjects VALUES (?, ?, ?) ON CONFLICT DO UPDATE ${changed}`, id, isOpen, endsAt);
    await isAwake;
  }

  async function alarm(): Promise<void> {
    alarmAt = null;
    const now = Date.now();
    const lost = removeLost(now);
    if (lost > 0)
      logError(`durable: ${lost} objects of a user never said that they ended; their places are free`);
    const over = `SELECT id FROM ${KEPT} AND endsAt <= ? ORDER BY endsAt LIMIT ?`;
    sql.exec(`DELETE FROM userObjects WHERE isOpen = 0 AND id IN (${over})`, now, BATCH);
    const [first] = sql.exec(`SELECT endsAt FROM ${KEPT} ORDER BY endsAt LIMIT 1`).toArray();
    const next = Math.min(Number(first?.["endsAt"] ?? Number.POSITIVE_INFINITY), seen.firstEnd);
    if (seen.id !== "" || next <= now) await wakeBy(now + SOON_MS);
    else if (Number.isFinite(next)) await wakeBy(next + LATER_MS);
    else await deleteAll();
  }

  /** Removes objects that never said that they ended, of the next few that work. Returns their number. */
  function removeLost(now: number): number {
    const working = "SELECT id, endsAt FROM userObjects WHERE isOpen = 1 AND id > ? ORDER BY id LIMIT ?";
    const next = sql.exec(working, seen.id, BATCH).toArray();
    const ends = next.map(({ endsAt }) => Number(endsAt)).filter((endsAt) => endsAt > now);
    const lost = next.filter(({ endsAt }) => Number(endsAt) <= now);
    for (const { id } of lost) sql.exec("DELETE FROM userObjects WHERE isOpen = 1 AND id = ?", id);
    const firstEnd = Math.min(seen.id === "" ? Number.POSITIVE_INFINITY : seen.firstEnd, ...ends);
    seen = { id: next.length < BATCH ? "" : String(next.at(-1)?.["id"]), firstEnd };
    return lost.length;
  }

  async function deleteAll(): Promise<void> {
    alarmAt = null;
    await tables.deleteAll();
  }

  /** Sets the alarm, unless there is an earlier one. */
  async function wakeBy(at: number): Promise<void> {
    if (typeof alarmAt === "number" && alarmAt <= at) return;
    alarmAt = at;
    await storage.setAlarm(at);
  }
}

function idsOf(rows: ReturnType<ObjectState["storage"]["sql"]["exec"]>): readonly string[] {
  return rows.toArray().map(({ id }) => id as string);
}

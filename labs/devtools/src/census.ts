/** Numbers of locks or records by their names, sorted. */
export type Counts = readonly (readonly [name: string, count: number])[];

/** Locks and records of this origin, at one moment. */
export interface Census {
  /** Names of held locks, and of those that are waited for; undefined where the browser has no list. */
  readonly locks: { readonly held: Counts; readonly pending: Counts } | undefined;
  /** Databases of `indexedDBStorage`, and the items of `webStorage` in `localStorage`. */
  readonly places: readonly { readonly name: string; readonly counts: Counts }[];
  /** Bytes that the origin uses, and may use. */
  readonly usage: number | undefined;
  readonly quota: number | undefined;
}

/** Counts locks and records. Reads keys alone, and no record. Never rejects. */
export async function takeCensus(): Promise<Census> {
  const [locks, databases, estimate] = await Promise.all([
    orNothing(() => navigator.locks.query()),
    orNothing(countDatabases),
    orNothing(() => navigator.storage.estimate()),
  ]);
  const inWebStorage = countWebStorage();
  const countLocks = (all: readonly { readonly name?: string }[] = []) =>
    countsOf(all.map(({ name = "" }) => name));
  return {
    locks: locks && { held: countLocks(locks.held), pending: countLocks(locks.pending) },
    places: [
      ...(databases ?? []),
      ...(inWebStorage.length > 0 ? [{ name: "localStorage", counts: inWebStorage }] : []),
    ],
    usage: estimate?.usage,
    quota: estimate?.quota,
  };
}

function orNothing<T>(act: () => Promise<T>): Promise<T | undefined> {
  return Promise.resolve()
    .then(act)
    .catch(() => undefined);
}

/** Store of records in each database of `indexedDBStorage`; the name of such a database ends with its version. */
const RECORDS = "records";

async function countDatabases(): Promise<{ name: string; counts: Counts }[]> {
  const names = (await indexedDB.databases())
    .map(({ name = "" }) => name)
    .filter((name) => /\/\d+$/.test(name));
  const places = await Promise.all(
    names.map(async (name) => ({ name, counts: await orNothing(() => countDatabase(name)) })),
  );
  return places.flatMap(({ name, counts }) => (counts ? [{ name, counts }] : []));
}

async function countDatabase(name: string): Promise<Counts | undefined> {
  const database = await resultOf(indexedDB.open(name));
  try {
    if (!database.objectStoreNames.contains(RECORDS)) return undefined;
    const keys = await resultOf(database.transaction(RECORDS).objectStore(RECORDS).getAllKeys());
    return countsOf(keys.map((key) => groupOf(String((key as readonly unknown[])[0]))));
  } finally {
    database.close();
  }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function countWebStorage(): Counts {
  try {
    // the name of an item is the JSON of its prefix, version and collection, and then its key
    const names = Object.keys(localStorage).map(
      (name) => /^\["[^"]*",\d+,("(?:[^"\\]|\\.)*")\]/.exec(name)?.[1],
    );
    return countsOf(names.flatMap((name) => (name === undefined ? [] : [groupOf(JSON.parse(name))])));
  } catch {
    return [];
  }
}

/** Each chat has its own collection: they are counted together, under what stands before the last slash. */
function groupOf(collection: string): string {
  return collection.replace(/\/[^/]*$/, "/…");
}

function countsOf(names: readonly string[]): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
}

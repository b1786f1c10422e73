/** Numbers of locks or records by name, sorted. */
export type Counts = readonly (readonly [name: string, count: number])[];

/** Locks and records of this origin at one moment. */
export interface Inventory {
  /** Names of held and requested locks. Undefined in a browser that can't list them. */
  readonly locks: { readonly held: Counts; readonly pending: Counts } | undefined;
  /** Databases of `indexedDBStorage`, and items of `webStorage` in `localStorage`. */
  readonly places: readonly { readonly name: string; readonly counts: Counts }[];
  /** Bytes that the origin uses and may use. */
  readonly usage: number | undefined;
  readonly quota: number | undefined;
}

/** Counts locks and records. Reads only keys. Never rejects. */
export async function takeInventory(): Promise<Inventory> {
  const [locks, databases, estimate] = await Promise.all([
    ignoreErrors(() => navigator.locks.query()),
    ignoreErrors(countDatabases),
    ignoreErrors(() => navigator.storage.estimate()),
  ]);
  const inWebStorage = countWebStorage();
  const countLocks = (all: readonly { readonly name?: string }[] = []) =>
    countNames(all.map(({ name = "" }) => name));
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

function ignoreErrors<T>(act: () => Promise<T>): Promise<T | undefined> {
  return Promise.resolve()
    .then(act)
    .catch(() => undefined);
}

/** Object store in each database of `indexedDBStorage`. The name of such a database ends with its version. */
const RECORDS = "records";

async function countDatabases(): Promise<{ name: string; counts: Counts }[]> {
  const names = (await indexedDB.databases())
    .map(({ name = "" }) => name)
    .filter((name) => /\/\d+$/.test(name));
  const places = await Promise.all(
    names.map(async (name) => ({ name, counts: await ignoreErrors(() => countDatabase(name)) })),
  );
  return places.flatMap(({ name, counts }) => (counts ? [{ name, counts }] : []));
}

async function countDatabase(name: string): Promise<Counts | undefined> {
  const database = await waitForResult(indexedDB.open(name));
  try {
    if (!database.objectStoreNames.contains(RECORDS)) return undefined;
    const keys = await waitForResult(database.transaction(RECORDS).objectStore(RECORDS).getAllKeys());
    return countNames(keys.map((key) => getGroup(String((key as readonly unknown[])[0]))));
  } finally {
    database.close();
  }
}

function waitForResult<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function countWebStorage(): Counts {
  try {
    // the name of an item is the JSON of its prefix, version and collection, followed by its key
    const names = Object.keys(localStorage).map(
      (name) => /^\["[^"]*",\d+,("(?:[^"\\]|\\.)*")\]/.exec(name)?.[1],
    );
    return countNames(names.flatMap((name) => (name === undefined ? [] : [getGroup(JSON.parse(name))])));
  } catch {
    return [];
  }
}

/** Groups the collections of chats by the part before the last slash, since each chat has its own collection. */
function getGroup(collection: string): string {
  return collection.replace(/\/[^/]*$/, "/…");
}

function countNames(names: readonly string[]): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
}

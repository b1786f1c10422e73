import type { EmulatorOptions } from "@sluice/emulator";

type EmulatorState = NonNullable<EmulatorOptions["state"]>;

/** State of the emulator in IndexedDB. */
export interface StoredState extends EmulatorState {
  get(key: string): unknown;
  /** Resolves once every earlier change is on the disk. */
  flush(): Promise<void>;
}

/** An entry of the database. */
interface Entry {
  readonly value: unknown;
  /** Position among all entries: the emulator deletes the oldest first. */
  readonly order: number;
}

const STORE = "entries";

/** Opens the state that earlier Service Workers stored. */
export async function openStoredState(name: string): Promise<StoredState> {
  const database = await openDatabase(name);
  const found = await readEntries(database);
  const entries = new Map(found.map(([key, { value }]) => [key, value]));
  let order = found.at(-1)?.[1].order ?? 0;
  /** Changes that are not on the disk; undefined for a deleted entry. */
  let changes = new Map<string, Entry | undefined>();
  let writing = Promise.resolve();
  return { get, set, delete: remove, flush, [Symbol.iterator]: () => entries[Symbol.iterator]() };

  function get(key: string): unknown {
    return entries.get(key);
  }

  function set(key: string, value: unknown) {
    entries.set(key, value);
    order += 1;
    changes.set(key, { value, order });
    return entries;
  }

  function remove(key: string): boolean {
    changes.set(key, undefined);
    return entries.delete(key);
  }

  function flush(): Promise<void> {
    if (changes.size === 0) return writing;
    const written = changes;
    changes = new Map();
    writing = writing.then(() => write(database, written));
    return writing;
  }
}

function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => void request.result.createObjectStore(STORE);
  return waitForResult(request);
}

async function readEntries(database: IDBDatabase): Promise<[string, Entry][]> {
  const store = database.transaction(STORE).objectStore(STORE);
  const [keys, values] = await Promise.all([
    waitForResult(store.getAllKeys() as IDBRequest<string[]>),
    waitForResult(store.getAll() as IDBRequest<Entry[]>),
  ]);
  return keys
    .map((key, at): [string, Entry] => [key, values[at] as Entry])
    .sort(([, one], [, other]) => one.order - other.order);
}

function write(database: IDBDatabase, changes: ReadonlyMap<string, Entry | undefined>): Promise<void> {
  const transaction = database.transaction(STORE, "readwrite");
  const store = transaction.objectStore(STORE);
  for (const [key, entry] of changes) {
    if (entry) store.put(entry, key);
    else store.delete(key);
  }
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

function waitForResult<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

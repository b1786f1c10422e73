/** An IndexedDB database, opened when it is needed and again where the browser has closed it. */
export interface Stores {
  /** Runs reads and writes as one transaction. Resolves to what `act` returns when all of it is on the disk. */
  write<Result>(names: readonly string[], act: (store: OpenStore) => Result): Promise<Result>;
  /** Runs one read. */
  read<Result>(name: string, act: (store: IDBObjectStore) => IDBRequest<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Finds a store of the transaction. */
export type OpenStore = (name: string) => IDBObjectStore;

/** Version of the tables: each has its own step, and none of them changes once it is released. */
const VERSION = 1;

/** @param name name of the database in this browser; it is made where it is missing */
export function openStores(name: string): Stores {
  let opening: Promise<IDBDatabase> | undefined;
  return { write, read, close };

  async function write<Result>(names: readonly string[], act: (store: OpenStore) => Result): Promise<Result> {
    const transaction = (await opened()).transaction(names, "readwrite", { durability: "strict" });
    const ended = endOf(transaction);
    try {
      const result = act((store) => transaction.objectStore(store));
      await ended;
      return result;
    } catch (error) {
      ended.catch(() => {});
      abort(transaction);
      throw error;
    }
  }

  async function read<Result>(
    store: string,
    act: (store: IDBObjectStore) => IDBRequest<Result>,
  ): Promise<Result> {
    return await resultOf(act((await opened()).transaction(store).objectStore(store)));
  }

  async function close(): Promise<void> {
    const closing = opening;
    opening = undefined;
    (await closing?.catch(() => undefined))?.close();
  }

  function opened(): Promise<IDBDatabase> {
    opening ??= open(name, () => {
      opening = undefined;
    });
    return opening;
  }
}

/** @param onClose called where the connection has ended, or never began: the next use opens another */
async function open(name: string, onClose: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, VERSION);
  request.onupgradeneeded = () => createTables(request.result);
  try {
    const database = await resultOf(request);
    database.onclose = onClose;
    // a later version, or someone who deletes it, waits for this
    database.onversionchange = () => {
      database.close();
      onClose();
    };
    return database;
  } catch (error) {
    onClose();
    throw error;
  }
}

function createTables(database: IDBDatabase): void {
  database.createObjectStore("objects", { keyPath: ["binding", "name"] }).createIndex("alarm", "alarm");
  database.createObjectStore("rows");
  database.createObjectStore("files");
  database.createObjectStore("uploads");
  database.createObjectStore("parts");
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function endOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
  });
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // it has ended
  }
}

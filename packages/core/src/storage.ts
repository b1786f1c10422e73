import type { SharedDevices } from "./devices.js";

/** Lock of a name in a storage, until `release` or the end of the process. */
export interface StorageLock {
  /**
   * Writes as `write` of the storage does, while the lock is held. Rejects where another process has taken it over, and
   * changes nothing then.
   */
  write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /** Gives the lock back. Never rejects. */
  release(): Promise<void>;
}

/**
 * Storage of chats and tasks between page loads: records by key, in named collections. Each message or task has its own
 * record, so that two pages never overwrite each other's.
 *
 * A record is any value that has JSON, and is read as its JSON: a `Date` as text, a `Map` empty, and without fields
 * that are `undefined`. Collections and keys are any text. An app can write its own storage with the first three functions;
 * `storageTests` of `@sluice/core/testing` tries it.
 */
export interface RecordStorage {
  /**
   * Reads all records of a collection, by key. Leaves out damaged records, and records in the format of another
   * version. Rejects with the platform's error if the storage is not available, for example because cookies are turned
   * off.
   */
  read(collection: string): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Writes records as they are at the time of the call, all or none; `undefined` removes one. Writes of one storage object
   * are kept in the order of the calls. Rejects with the platform's error if they cannot be kept
   * (`QuotaExceededError`), and with a `TypeError` if one has no JSON.
   */
  write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /**
   * Calls `listener` with the records that other pages write from now on, `undefined` for those that they remove.
   * Returns a function that ends the watching. A storage may report the page's own writes, too.
   *
   * @param onRefusal gets the platform's error where changes of other pages cannot be watched; nothing is thrown
   */
  watch(
    collection: string,
    listener: (changes: ReadonlyMap<string, unknown>) => void,
    onRefusal?: (error: unknown) => void,
  ): () => void;
  /**
   * Passes records to the watchers of other pages without keeping them. A chat calls it ten times a second for an answer
   * in flight, and writes the answer once a second. Without it other tabs show the written text. It may lose records.
   */
  pass?(collection: string, changes: ReadonlyMap<string, unknown>): void;
  /**
   * Removes a collection, and those whose names begin with its name and a slash: `drop("chat")` removes `chat` and
   * `chat/a`, and not `chats`. Also damaged records. Watchers get each removed record as `undefined`. Without it,
   * `signOut` removes only what this page knows of.
   */
  drop?(collection: string): Promise<void>;
  /**
   * Takes a lock that all users of the same data see, in any process; undefined while another one holds it. A batch uses
   * it instead of a Web Lock, which the storages of a browser share anyway.
   */
  lock?(name: string): Promise<StorageLock | undefined>;
  /**
   * Present where a server keeps the records for several devices: a chat asks it who works on a message, and shows what is
   * not sent yet. A storage of one browser has none, because its tabs see each other's Web Locks.
   */
  readonly devices?: SharedDevices;
}

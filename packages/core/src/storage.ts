import type { Store } from "./base/store.js";

/** A named lock of a storage, held until `release` or the end of the process. */
export interface StorageLock {
  /**
   * Writes like `write` of the storage, while the lock is held. Rejects without any change if another process has taken
   * the lock over.
   */
  write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /** Releases the lock. Never rejects. */
  release(): Promise<void>;
}

/**
 * Storage of chats and tasks between page loads: records by key, in named collections. Each message or task is one
 * record, so that two pages never overwrite each other's records.
 *
 * A record is any value with a JSON form, and is read as its JSON: a `Date` as text, a `Map` as an empty object,
 * without undefined fields. Collections and keys are any text. An app can implement its own storage with the first
 * three functions. Chats take it through `customStorage` of `@sluice/stores`. `storageTests` of
 * `@sluice/stores/testing` tests it.
 */
export interface RecordStorage {
  /**
   * Reads all records of a collection, by key. Skips damaged records and records in the format of another version.
   * Rejects with the platform's error if the storage is unavailable, for example because the user blocks cookies.
   */
  read(collection: string): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Writes records as they are at the time of the call, all or none. `undefined` removes a record. Writes of one
   * storage object apply in the order of the calls. Rejects with the platform's error if the write fails
   * (`QuotaExceededError`), and with a `TypeError` for a record without a JSON form.
   */
  write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /**
   * Calls `listener` with the records that other pages write after the call, and with `undefined` for removed records.
   * Returns a function that unsubscribes. A storage may also report the page's own writes.
   *
   * @param onRefusal gets the platform's error if the storage cannot watch other pages; `subscribe` itself does not throw
   */
  subscribe(
    collection: string,
    listener: (changes: ReadonlyMap<string, unknown>) => void,
    onRefusal?: (error: unknown) => void,
  ): () => void;
  /**
   * Broadcasts records to the listeners of other pages without storing them. A chat broadcasts a response in flight ten
   * times a second and writes it once a second. Without this function, other tabs show the written text. Broadcast
   * records may get lost.
   */
  broadcast?(collection: string, changes: ReadonlyMap<string, unknown>): void;
  /**
   * Removes a collection, and all collections whose names begin with its name and a slash: `clear("chat")` removes
   * `chat` and `chat/a`, but not `chats`. Also removes damaged records. Listeners get each removed record as
   * `undefined`. Without this function, `signOut` removes only the records that this page knows.
   */
  clear?(collection: string): Promise<void>;
  /**
   * Acquires a lock that all processes with the same data share; undefined while another process holds it. A batch uses
   * it instead of a Web Lock.
   */
  lock?(name: string): Promise<StorageLock | undefined>;
  /**
   * Status of a storage that sends its records to a server, for all records of this client's user. A chat shows it as
   * `persistence`. Absent if the storage has no server.
   */
  readonly status?: Store<StorageStatus>;
}

/** How much of a chat, or of a storage, is stored. */
export interface StorageStatus {
  /**
   * - `restoring`: the thread is being read, for at most 3 s. The messages of a slower storage appear later
   * - `saving`: a storage with a server has records to send, or reads them
   * - `saved`: all is stored
   * - `unsaved`: a write failed. The page retries it while it is open; a closed page loses these messages
   * - `error`: the storage can't be read, or its server can't be reached. Records that are not sent survive a reload
   */
  readonly status: "restoring" | "saving" | "saved" | "unsaved" | "error";
  /** Number of messages that are not stored, or of records that the server does not have. 0 after `saved`. */
  readonly pending: number;
  /** Reason of `unsaved` and `error`. */
  readonly error?: Error;
}

/** Sync state of the records of one collection. */
export interface SyncStatus {
  /** True while this device sends records to the server or reads records from it. */
  readonly isSyncing: boolean;
  /** Number of records that the server has not accepted yet. This device stores them across reloads. */
  readonly unsent: number;
  /** Error of the last attempt to send or read; absent after a success. */
  readonly error?: Error;
}

/** The interface of a storage that coordinates the devices of one user, which cannot share Web Locks. */
export interface SharedDevices {
  /** Returns the id of this device: the same in all tabs and after a reload. */
  id(): Promise<string>;
  /**
   * Connects a chat to the user's other devices. Takes the collection, the stored chat, the locks of its tabs, and a
   * function that reads the records of other devices. Only the sync lab implements it: the parameters are internal and
   * may change.
   */
  readonly open: (collection: string, stored: never, tabs: never, refresh: never) => object;
  /**
   * Calls `note` with the server's version of the newest record that this page has of a collection. Calls it again for
   * each record that the page sends within the next `ms` milliseconds. Without this function, a conversation list marks
   * a chat as read a little later.
   */
  noteShown?(collection: string, ms: number, note: (version: number) => void): void;
  /** Returns the sync state of a collection. */
  status(collection: string): {
    /** Returns the same object until it changes. */
    getSnapshot(): SyncStatus;
    /** Calls `listener` after each change. Returns a function that unsubscribes. */
    subscribe(listener: () => void): () => void;
  };
}

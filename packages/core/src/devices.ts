/** State of the records of one collection that a server keeps, too. */
export interface SyncStatus {
  /** True while this device has records that the server has not, and while it reads what the server has. */
  readonly isSyncing: boolean;
  /** Number of records that the server has not taken yet. They are kept on this device, also over a reload. */
  readonly unsent: number;
  /** Reason why the last attempt to send or to read failed, until one succeeds; absent while all goes well. */
  readonly error?: Error;
}

/** The part of a storage by which the devices of one user agree: they share no Web Locks. */
export interface SharedDevices {
  /** Returns the id of this device: the same in all of its tabs, and after a reload. */
  id(): Promise<string>;
  /**
   * Opens the side of a thread that other devices see: of the name by which this storage knows the thread, the thread, the
   * locks of its tabs, and a function that reads what other devices have written. Only the sync lab makes one: the
   * parameters are internal and may change.
   */
  readonly open: (collection: string, kept: never, tabs: never, refresh: never) => object;
  /**
   * Calls `note` with the version at the server of the newest record that this page has of a collection, and with those of
   * records that it sends within the next `ms` milliseconds. Without this function a list of conversations learns a little
   * later what was shown.
   */
  noteShown?(collection: string, ms: number, note: (version: number) => void): void;
  /** Returns the state of a collection. */
  status(collection: string): {
    /** Returns the same object until it changes. */
    getSnapshot(): SyncStatus;
    /** Calls `listener` after each change. Returns a function that ends the subscription. */
    subscribe(listener: () => void): () => void;
  };
}

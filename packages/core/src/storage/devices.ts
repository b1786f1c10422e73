/** State of the records of one collection that a server keeps, too. */
export interface SyncStatus {
  /** True while this device has records that the server has not, and while it reads what the server has. */
  readonly isSyncing: boolean;
  /** Number of records that the server has not taken yet. They are kept on this device, also over a reload. */
  readonly unsent: number;
  /** Reason why the last attempt to send or to read failed, until one succeeds; absent while all goes well. */
  readonly error?: Error;
}

/** A lock that the pages of all devices see. It ends by itself where its page is gone, frozen or cut off for 30 s. */
export interface DeviceLock {
  /** False from the moment on in which another page may hold the lock. It never becomes true again. */
  readonly isHeld: boolean;
  /** Sends what this page has written to the collection, then gives the lock back. Never rejects. */
  release(): Promise<void>;
}

/** The part of a storage by which the devices of one user agree: they share no Web Locks. */
export interface SharedDevices {
  /** Returns the id of this device: the same in all of its tabs, and after a reload. */
  id(): Promise<string>;
  /**
   * Takes a lock, and renews it until `release`. A lock that could not be renewed in time is not renewed any more.
   * Resolves to undefined while another page holds it, of any device. Resolves to the lock when all records that were
   * written before it was free can be read. What is written after the call reaches the server after the lock.
   *
   * @throws where the server can't be asked now
   */
  lock(collection: string, name: string): Promise<DeviceLock | undefined>;
  /**
   * Calls `listener` when a lock of the collection may be free: it was given back, it has ended, or the connection is
   * back. Returns a function that ends the watching.
   */
  watchLocks(collection: string, listener: () => void): () => void;
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

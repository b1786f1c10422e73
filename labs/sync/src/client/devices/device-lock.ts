/** A lock that the pages of all devices see. It ends by itself where its page is gone, frozen or cut off for 30 s. */
export interface DeviceLock {
  /** False from the moment on in which another page may hold the lock. It never becomes true again. */
  readonly isHeld: boolean;
  /** Sends what this page has written to the collection, then gives the lock back. Never rejects. */
  release(): Promise<void>;
}

/** The locks of the pages of all devices. */
export interface DeviceLocks {
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
}

/**
 * A store for chats and tasks between page loads: records by key, in named collections. One record for each
 * message or task, so that two pages never overwrite each other's and nobody reads in order to write.
 *
 * A record is anything that has JSON, and comes back as its JSON does: a `Date` as text, a `Map` empty, and without
 * fields that are `undefined`. Collections and keys are any text. Make your own storage of the same three functions.
 */
export interface RecordStorage {
  /**
   * Every record of a collection, by key and in no order; those that are garbage or kept in another version's format
   * are left out. Rejects with the platform's error if the storage can't be reached: cookies turned off, a server.
   */
  read(collection: string): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Writes records as they are at the time of the call, all or none; `undefined` removes one. Rejects with the
   * platform's error if they can't be kept (`QuotaExceededError`), and with a `TypeError` if one has no JSON.
   */
  write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void>;
  /**
   * Calls `listener` with what others write from now on, `undefined` for what they remove; returns how to stop. Others
   * are other pages, at least. One's own writes may come back too, where a storage can't tell: merge what is told.
   *
   * @param onRefusal gets the platform's error where others can't be heard; nothing is thrown then
   */
  watch(
    collection: string,
    listener: (changes: ReadonlyMap<string, unknown>) => void,
    onRefusal?: (error: unknown) => void,
  ): () => void;
}

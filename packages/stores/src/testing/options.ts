import type { RecordStorage } from "@sluice/core";

/** The storage that a contract tries, and what of it can be tried. */
export interface StorageContract {
  /**
   * Opens the storage once more over the same data, as another page, device or process does. It may return the same object.
   * Other records may be there: the cases have names of their own, and remove what they wrote.
   */
  readonly create: () => RecordStorage | Promise<RecordStorage>;
  /** Closes what `create` has opened, at the end of a case. */
  readonly close?: ((storage: RecordStorage) => unknown) | undefined;
  /** False where `watch` reports nothing of what other instances write. Devices that share such a storage make branches of a chat without seeing each other's. @default true */
  readonly isWatched?: boolean | undefined;
  /**
   * Ends an instance as the crash of its page or process does, without a release of its locks. Resolves when they can be
   * taken. The first argument is what `create` has returned.
   */
  readonly crash?: ((storage: RecordStorage) => unknown) | undefined;
  /** Opens the storage where it can't be reached: cookies are off, or its server is away. */
  readonly createUnreachable?: (() => RecordStorage | Promise<RecordStorage>) | undefined;
  /** Puts something that is no JSON in the place of a record. */
  readonly damage?: ((collection: string, key: string) => unknown) | undefined;
  /**
   * Longest time of one step, in milliseconds, after which its case fails. Most test runners give up after 5 seconds: give
   * them more for a storage that needs more. @default 4000
   */
  readonly deadlineMs?: number | undefined;
}

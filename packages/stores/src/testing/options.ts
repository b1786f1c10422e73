import type { RecordStorage } from "@sluice/core";

/** The storage that a contract tests, with options for its cases. */
export interface StorageContract {
  /**
   * Opens another instance of the storage over the same data, as another page, device or process does. May return the same
   * object. The data may have other records: the cases use unique names and remove their records.
   */
  readonly create: () => RecordStorage | Promise<RecordStorage>;
  /** Closes a storage of `create`, at the end of a case. */
  readonly close?: ((storage: RecordStorage) => unknown) | undefined;
  /**
   * False if `watch` does not report writes of other instances. Devices that share such a storage do not see each other's
   * changes before a reload, and may create branches of a chat.
   *
   * @default true
   */
  readonly isWatched?: boolean | undefined;
  /**
   * Crashes an instance of `create`, as a crash of its page or process does, without a release of its locks. Resolves when
   * the locks can be acquired.
   */
  readonly crash?: ((storage: RecordStorage) => unknown) | undefined;
  /** Opens a storage that can't be reached, e.g. because cookies are off or its server is down. */
  readonly createUnreachable?: (() => RecordStorage | Promise<RecordStorage>) | undefined;
  /** Replaces a record by a text that is not JSON. */
  readonly damage?: ((collection: string, key: string) => unknown) | undefined;
  /**
   * Maximum time of one step in milliseconds, after which its case fails. Most test runners have a limit of 5 seconds:
   * raise it for a slower storage.
   *
   * @default 4000
   */
  readonly deadlineMs?: number | undefined;
}

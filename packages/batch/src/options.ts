import type { RecordStorage, RequestOptions, VideoTask, WatchOptions } from "@sluice/core";
import type { BatchResult } from "./item.js";

/** Options of {@link createBatch}. */
export interface BatchOptions
  extends Pick<RequestOptions, "headers" | "timeout" | "retry">,
    Pick<WatchOptions<VideoTask>, "intervalMs" | "deadlineMs"> {
  /** Name of the batch in its storage and locks. Another list of requests needs another name. */
  readonly id: string;
  /**
   * Storage of the ledger: `indexedDBStorage()` in a page, `fileStorage(path)` of `@sluice/stores/node` in Node and
   * Deno. The batch writes a record before it sends a request, and when the request ends.
   */
  readonly storage: RecordStorage;
  /** Largest number of requests in flight, at least 1. A video counts until its task ends. @default 4 */
  readonly concurrency?: number | undefined;
  /**
   * Receives a result, for example to save its file. A request is `done` when the promise resolves. Runs at least once
   * for each result: after a crash, it may run again for the same `id`. An error ends the run. The next run calls the
   * function again with the stored result.
   */
  readonly onResult?: ((item: BatchResult) => unknown) | undefined;
}

import type { RecordStorage, RequestOptions, VideoTaskWatchOptions } from "@sluice/core";
import type { BatchResult } from "./item.js";

/** Options of `createBatch`. */
export interface BatchOptions {
  /** Name of the batch in its storage, locks included. Another list of requests needs another one. */
  readonly id: string;
  /**
   * Storage of the ledger: `indexedDBStorage()` in a page, `fileStorage(path)` of `@sluice/stores/node` in Node and Deno.
   * A record is written before each request is sent, and with each end of one.
   */
  readonly storage: RecordStorage;
  /** Most requests in flight, from 1 up. A video counts until it is made. @default 4 */
  readonly limit?: number | undefined;
  /**
   * Takes a result, for example to save its file. A request is `done` when the promise resolves. It is called at least
   * once for each result: after a crash, perhaps again for the same `id`. An error ends the run; the next one calls it
   * again with the result that the ledger keeps.
   */
  readonly onResult?: ((item: BatchResult) => unknown) | undefined;
  /** Headers, time limits and repetition of each request. */
  readonly request?: Pick<RequestOptions, "headers" | "timeouts" | "retry"> | undefined;
  /** Polling of videos: `intervalMs`, and `deadlineMs`, after which a video is `failed` until `retry`. */
  readonly watch?: Pick<VideoTaskWatchOptions, "intervalMs" | "deadlineMs"> | undefined;
}

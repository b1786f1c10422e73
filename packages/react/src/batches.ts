import { type Batch, type BatchOptions, type BatchRequest, type BatchState, createBatch } from "@sluice/core";
import { sharedStores } from "./shared-stores.js";

/** List and options that a component gives to a batch. */
interface GivenBatch {
  readonly requests: readonly BatchRequest[];
  readonly options: BatchOptions;
}

/** A batch that components share. The newest one to mount gives its list and options. */
interface SharedBatch {
  readonly batch: Batch;
  /** The state at the start, as a server renders it. */
  readonly first: BatchState;
  readonly withOptions: (read: () => GivenBatch) => SharedBatch;
}

/** The batches of each client. One that runs goes on without components. */
export const batches = sharedStores<GivenBatch, SharedBatch>({
  create(client, given) {
    let read = given;
    const batch = createBatch(
      client,
      () => read().requests,
      () => read().options,
    );
    const shared: SharedBatch = {
      batch,
      first: batch.getSnapshot(),
      withOptions(next) {
        read = next;
        return shared;
      },
    };
    return shared;
  },
  dispose: ({ batch }) => batch.stop(),
  isBusy: ({ batch }) => /^(?:running|paused|elsewhere|stopping)$/.test(batch.getSnapshot().status),
  lingerMs: 15 * 60_000,
});

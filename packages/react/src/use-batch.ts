import type { Batch, BatchOptions, BatchRequest, BatchState } from "@sluice/core";
import { useSyncExternalStore } from "react";
import { batches } from "./batches.js";
import { useSharedStore } from "./use-shared-store.js";

/** Result of `useBatch`: the state of the batch, and its verbs, which keep their identity. */
export interface UseBatchResult extends BatchState, Omit<Batch, "getSnapshot" | "subscribe"> {}

/**
 * Shows and runs a batch of images, videos and chats. Rendering and mounting send nothing: they read the ledger, so that a
 * page shows after a reload what is done. `run` continues it. Components with the same `id` share it, and a run goes on
 * while no component shows it, as long as the page is open.
 *
 * The list and the options may change at any time; each `run` reads them anew. `id` and `storage` stay.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`, and as `createBatch`
 * @example
 * ```tsx
 * const storage = indexedDBStorage();
 *
 * function Reefs({ prompts }: { prompts: readonly string[] }) {
 *   const requests = prompts.map((prompt) => ({
 *     id: prompt,
 *     image: { model: "gamma-image-5-0-260128", prompt } as const,
 *   }));
 *   const { status, done, total, unknown, run, stop, retry, items } = useBatch(requests, { id: "reefs", storage });
 *   return (
 *     <>
 *       <progress value={done} max={total} />
 *       {status === "running" ? <button onClick={stop}>Stop</button> : <button onClick={run}>Make all</button>}
 *       {unknown > 0 && items("unknown").map(({ id }) => <button key={id} onClick={() => retry(id)}>Again: {id}</button>)}
 *     </>
 *   );
 * }
 * ```
 */
export function useBatch(requests: readonly BatchRequest[], options: BatchOptions): UseBatchResult {
  const { batch, first } = useSharedStore(batches, options?.id, { requests, options });
  const { getSnapshot, subscribe, ...verbs } = batch;
  return { ...useSyncExternalStore(subscribe, getSnapshot, () => first), ...verbs };
}

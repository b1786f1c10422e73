import { useCallback, useSyncExternalStore } from "react";

/** A store of this library, or of your own. */
export interface Store<State> {
  /** Returns the state: the same object until it changes. */
  getSnapshot(): State;
  /** Calls `listener` after each change. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

/**
 * Shows the state of a store, or a part of it.
 *
 * @param select returns a part, the same object until something in it changes
 * @example
 * ```tsx
 * import { createBatch } from "@sluice/batch";
 *
 * const image = { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" } as const;
 * const batch = createBatch(client, [{ id: "dawn", image }], { id: "reefs", storage: indexedDBStorage() });
 *
 * function Reefs() {
 *   const { status, done, total } = useStore(batch);
 *   return (
 *     <>
 *       <progress value={done} max={total} />
 *       {status === "running" ? <button onClick={batch.stop}>Stop</button> : <button onClick={batch.run}>Run</button>}
 *     </>
 *   );
 * }
 * ```
 */
export function useStore<State, Part = State>(store: Store<State>, select?: (state: State) => Part): Part {
  const read = useCallback(
    () => (select ? select(store.getSnapshot()) : (store.getSnapshot() as unknown as Part)),
    [store, select],
  );
  return useSyncExternalStore(store.subscribe, read, read);
}

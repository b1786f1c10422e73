import type { SyncStatus } from "@sluice/core";
import { createListeners } from "@sluice/core/extend";
import { isEqual } from "@sluice/stores/extend";

/** State of the sync of one collection, on its owner's side. */
export interface StatusControl {
  readonly getSnapshot: () => SyncStatus;
  readonly subscribe: (listener: () => void) => () => void;
  /** Computes the state again, and notifies the subscribers of another one. */
  readonly changed: () => void;
}

/** Creates the state of one collection. */
export function createStatus(compute: () => SyncStatus): StatusControl {
  const { subscribe, notify } = createListeners<[]>();
  let snapshot = compute();
  return {
    getSnapshot: () => snapshot,
    subscribe,
    changed() {
      const next = compute();
      if (isEqual(next, snapshot)) return;
      snapshot = next;
      notify();
    },
  };
}

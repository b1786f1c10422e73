import type { BatchItem, BatchItemState } from "./item.js";
import { type Ledger, toItem } from "./ledger.js";

/** Creates the lists of a ledger's requests, computed on demand and cached until `clear`. */
export function createItemLists(ledger: Ledger) {
  const lists = new Map<BatchItemState | undefined, readonly BatchItem[]>();
  return { get: getItems, clear: () => lists.clear() };

  function getItems(state?: BatchItemState): readonly BatchItem[] {
    const known = lists.get(state);
    if (known) return known;
    const all = [...ledger.entries.values()].map(toItem);
    const list = state ? all.filter((item) => item.state === state) : all;
    lists.set(state, list);
    return list;
  }
}

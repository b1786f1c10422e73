import type { BatchItem, BatchItemState } from "./item.js";
import { itemOf, type Ledger } from "./ledger.js";

/** Creates the lists of a ledger's requests, which are made when they are asked for, once until `changed`. */
export function createItemLists(ledger: Ledger) {
  const lists = new Map<BatchItemState | undefined, readonly BatchItem[]>();
  return { in: itemsIn, changed: () => lists.clear() };

  function itemsIn(state?: BatchItemState): readonly BatchItem[] {
    const known = lists.get(state);
    if (known) return known;
    const all = [...ledger.entries.values()].map(itemOf);
    const list = state ? all.filter((item) => item.state === state) : all;
    lists.set(state, list);
    return list;
  }
}

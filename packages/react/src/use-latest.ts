import { useInsertionEffect, useState } from "react";

/** State of a component that survives renders and a fast refresh. */
export interface Latest<Options, Source, Store> {
  /** Returns the options of the latest render. */
  readonly read: () => Options;
  /** Returns the component's store for a source, created once. */
  readonly get: (source: Source) => Store;
}

/**
 * Keeps the latest options of a component, and the stores that `create` returns. They are in state, because a fast
 * refresh reruns a memo.
 */
export function useLatest<Options, Source extends object, Store>(
  options: Options,
  create: (source: Source, read: () => Options) => Store,
): Latest<Options, Source, Store> {
  const [{ set, latest }] = useState(() => createLatest(options, create));
  useInsertionEffect(() => set(options));
  return latest;
}

function createLatest<Options, Source extends object, Store>(
  initial: Options,
  create: (source: Source, read: () => Options) => Store,
) {
  let options = initial;
  const stores = new WeakMap<Source, Store>();
  const read = () => options;
  return { set, latest: { read, get: getStore } };

  function set(next: Options): void {
    options = next;
  }

  function getStore(source: Source): Store {
    const known = stores.get(source);
    if (known) return known;
    const created = create(source, read);
    stores.set(source, created);
    return created;
  }
}

import { useInsertionEffect, useState } from "react";

/** State of a component that survives renders and a fast refresh. */
export interface Latest<Options, Source, Store> {
  /** Returns the options of the latest render. */
  readonly readOptions: () => Options;
  /** Returns the component's store for a source, created once. */
  readonly getStore: (source: Source) => Store;
}

/**
 * Keeps the latest options of a component, and the stores that `create` returns. Both are in state, because a fast
 * refresh reruns a memo.
 */
export function useLatest<Options, Source extends object, Store>(
  options: Options,
  create: (source: Source, readOptions: () => Options) => Store,
): Latest<Options, Source, Store> {
  const [{ setOptions, latest }] = useState(() => createLatest(options, create));
  useInsertionEffect(() => setOptions(options));
  return latest;
}

function createLatest<Options, Source extends object, Store>(
  initial: Options,
  create: (source: Source, readOptions: () => Options) => Store,
) {
  let options = initial;
  const stores = new WeakMap<Source, Store>();
  const readOptions = () => options;
  return { setOptions, latest: { readOptions, getStore } };

  function setOptions(next: Options): void {
    options = next;
  }

  function getStore(source: Source): Store {
    const known = stores.get(source);
    if (known) return known;
    const created = create(source, readOptions);
    stores.set(source, created);
    return created;
  }
}

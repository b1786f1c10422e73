/** Deletes the first entries of a map or a set, until it has at most `max` entries. */
export function deleteOldest<Key>(
  entries: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean },
  max: number,
): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(oldest);
  }
}

/** Creates counters by key. Beyond `maxKeys`, the counters that were not increased for the longest time are deleted. */
export function createCounts(maxKeys: number) {
  const counts = new Map<string, number>();
  return {
    get: (key: string) => counts.get(key) ?? 0,
    increase,
    delete: (key: string) => void counts.delete(key),
    clear: () => counts.clear(),
  };

  function increase(key: string): void {
    const count = (counts.get(key) ?? 0) + 1;
    // move the key to the end, so that it is the newest
    counts.delete(key);
    counts.set(key, count);
    deleteOldest(counts, maxKeys);
  }
}

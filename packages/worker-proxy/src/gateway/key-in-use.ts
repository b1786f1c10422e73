/** Remembers which of two keys the gateway took last, in this isolate. */
export function createKeyInUse() {
  let taken: string | undefined;
  return {
    /** Returns the keys in the order in which they are tried. */
    first(keys: readonly string[]): readonly string[] {
      return taken !== undefined && keys[1] === taken ? [taken, ...keys.slice(0, 1)] : keys;
    },
    /** Notes that the gateway took a key. Returns true if it was another one before. */
    took(key: string): boolean {
      const isNew = taken !== key;
      taken = key;
      return isNew;
    },
  };
}

/**
 * Keeps what an emulator has made where its process may end at any time, as a Service Worker does. A `Map` is one; what
 * is set survives if you copy it elsewhere. Values are data that `structuredClone` copies.
 */
export type EmulatorState = Pick<Map<string, unknown>, "set" | "delete" | typeof Symbol.iterator>;

/** The part of a state that one endpoint has. */
export interface Shelf<Value> {
  /** Entries that were kept before, in the order in which they were set. */
  readonly entries: readonly (readonly [id: string, value: Value])[];
  set(id: string, value: Value): void;
  delete(id: string): void;
}

/** Opens the part of an endpoint; without a state nothing is kept. */
export function openShelf<Value>(state: EmulatorState | undefined, name: string): Shelf<Value> {
  const prefix = `${name}/`;
  const kept = [...(state ?? [])].filter(([key]) => key.startsWith(prefix));
  return {
    // only this shelf has set them
    entries: kept.map(([key, value]) => [key.slice(prefix.length), value as Value]),
    set: (id, value) => void state?.set(prefix + id, value),
    delete: (id) => void state?.delete(prefix + id),
  };
}

/** Creates a count of what an endpoint has made, which goes on where the last process ended: no id comes twice. */
export function createCount(state: EmulatorState | undefined, name: string) {
  const shelf = openShelf<number>(state, "counts");
  let count = shelf.entries.find(([id]) => id === name)?.[1] ?? 0;
  return {
    next(): number {
      count += 1;
      shelf.set(name, count);
      return count;
    },
    clear(): void {
      count = 0;
      shelf.delete(name);
    },
  };
}

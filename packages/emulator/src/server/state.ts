/**
 * Stores what an emulator has created, for a process that may end at any time, such as a Service Worker. A `Map` fits;
 * copy its entries elsewhere to persist them. `structuredClone` can copy all values.
 */
export type EmulatorState = Pick<Map<string, unknown>, "set" | "delete" | typeof Symbol.iterator>;

/** The part of a state that belongs to one endpoint. */
export interface StatePart<Value> {
  /** Stored entries in insertion order. */
  readonly entries: readonly (readonly [id: string, value: Value])[];
  set(id: string, value: Value): void;
  delete(id: string): void;
}

/** Creates the part of a state that belongs to one endpoint. Without a state, nothing is stored. */
export function createStatePart<Value>(state: EmulatorState | undefined, name: string): StatePart<Value> {
  const prefix = `${name}/`;
  const stored = [...(state ?? [])].filter(([key]) => key.startsWith(prefix));
  return {
    // only this part has set these values
    entries: stored.map(([key, value]) => [key.slice(prefix.length), value as Value]),
    set: (id, value) => void state?.set(prefix + id, value),
    delete: (id) => void state?.delete(prefix + id),
  };
}

/** Creates a counter that continues where the last process ended. Ids never repeat. */
export function createCounter(state: EmulatorState | undefined, name: string) {
  const part = createStatePart<number>(state, "counts");
  let count = part.entries.find(([id]) => id === name)?.[1] ?? 0;
  return {
    next(): number {
      count += 1;
      part.set(name, count);
      return count;
    },
    clear(): void {
      count = 0;
      part.delete(name);
    },
  };
}

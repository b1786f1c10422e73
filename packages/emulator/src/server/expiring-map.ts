import type { EmulatorClock } from "../base/clock.js";
import { type EmulatorState, openShelf } from "./state.js";

/** Bounds of an expiring map, and the place that keeps it. */
export interface ExpiringMapOptions {
  readonly clock: EmulatorClock;
  /** Largest number of entries; the oldest are deleted. */
  readonly most: number;
  /** Lifetime of an entry, in milliseconds. @default Infinity */
  readonly lifetimeMs?: number;
  readonly state: EmulatorState | undefined;
  /** Name of the map in the state. */
  readonly name: string;
}

/** Creates a map whose entries are deleted when they are too old or too many. */
export function createExpiringMap<Entry>({
  clock,
  most,
  lifetimeMs = Infinity,
  state,
  name,
}: ExpiringMapOptions) {
  const shelf = openShelf<{ readonly entry: Entry; readonly expiresAt: number }>(state, name);
  const entries = new Map(shelf.entries);
  return { set, get, clear };

  /** Adds an entry. An id that is there already keeps its first entry and time. */
  function set(id: string, entry: Entry): void {
    if (entries.has(id)) return;
    const added = { entry, expiresAt: clock.now() + lifetimeMs };
    entries.set(id, added);
    shelf.set(id, added);
    for (const [oldest, { expiresAt }] of entries) {
      if (entries.size <= most && clock.now() < expiresAt) break;
      remove(oldest);
    }
  }

  function get(id: string): Entry | undefined {
    const found = entries.get(id);
    return found && clock.now() < found.expiresAt ? found.entry : undefined;
  }

  function clear(): void {
    for (const id of [...entries.keys()]) remove(id);
  }

  function remove(id: string): void {
    entries.delete(id);
    shelf.delete(id);
  }
}

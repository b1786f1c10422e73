import type { EmulatorClock } from "../base/clock.js";
import { createStatePart, type EmulatorState } from "./state.js";

/** Limits of an expiring map, and its storage. */
export interface ExpiringMapOptions {
  readonly clock: EmulatorClock;
  /** Maximum number of entries. The oldest are deleted. */
  readonly maxEntries: number;
  /** Lifetime of an entry, in milliseconds. @default Infinity */
  readonly lifetimeMs?: number;
  readonly state: EmulatorState | undefined;
  /** Name of the map in the state, `videos`. */
  readonly name: string;
}

/** Creates a map that deletes its oldest entries by age and by number. */
export function createExpiringMap<Entry>({
  clock,
  maxEntries,
  lifetimeMs = Infinity,
  state,
  name,
}: ExpiringMapOptions) {
  const part = createStatePart<{ readonly entry: Entry; readonly expiresAt: number }>(state, name);
  const entries = new Map(part.entries);
  return { set, get, clear };

  /** Adds an entry. If the id exists, its first entry and time stay. */
  function set(id: string, entry: Entry): void {
    if (entries.has(id)) return;
    const added = { entry, expiresAt: clock.now() + lifetimeMs };
    entries.set(id, added);
    part.set(id, added);
    for (const [oldest, { expiresAt }] of entries) {
      if (entries.size <= maxEntries && clock.now() < expiresAt) break;
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
    part.delete(id);
  }
}

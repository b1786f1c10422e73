import type { EmulatorClock } from "../clock.js";

/** Bounds of an expiring map. */
export interface ExpiringMapOptions {
  readonly clock: EmulatorClock;
  /** Largest number of entries; the oldest are deleted. */
  readonly most: number;
  /** Lifetime of an entry, in milliseconds. @default Infinity */
  readonly lifetimeMs?: number;
}

/** Creates a map whose entries are deleted when they are too old or too many. */
export function createExpiringMap<Entry>({ clock, most, lifetimeMs = Infinity }: ExpiringMapOptions) {
  const entries = new Map<string, { readonly entry: Entry; readonly expiresAt: number }>();
  return { set, get, clear: () => entries.clear() };

  /** Adds an entry. An id that is there already keeps its first entry and time. */
  function set(id: string, entry: Entry): void {
    if (entries.has(id)) return;
    entries.set(id, { entry, expiresAt: clock.now() + lifetimeMs });
    for (const [oldest, { expiresAt }] of entries) {
      if (entries.size <= most && clock.now() < expiresAt) break;
      entries.delete(oldest);
    }
  }

  function get(id: string): Entry | undefined {
    const found = entries.get(id);
    return found && clock.now() < found.expiresAt ? found.entry : undefined;
  }
}

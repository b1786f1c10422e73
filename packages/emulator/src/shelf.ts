import type { EmulatorClock } from "./clock.js";

/** How much a shelf holds, and for how long. */
export interface ShelfOptions {
  readonly clock: EmulatorClock;
  /** The most entries; the oldest make room. */
  readonly most: number;
  /** @default forever */
  readonly lifetimeMs?: number;
}

/** Keeps what was made, by id, until it is too old or there is too much of it. */
export function createShelf<Entry>({ clock, most, lifetimeMs = Infinity }: ShelfOptions) {
  const entries = new Map<string, { readonly entry: Entry; readonly expiresAt: number }>();
  return { put, get, clear: () => entries.clear() };

  /** An entry that is put again keeps its first place and time. */
  function put(id: string, entry: Entry): void {
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

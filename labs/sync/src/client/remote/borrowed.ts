import type { RecordStorage } from "@sluice/core";
import type { Copy } from "./copy.js";
import type { Outbox } from "./outbox.js";
import type { Place } from "./place.js";
import type { SyncState } from "./sync-state.js";

/** Records that this tab has read from the server, and left to the tab that follows to store. */
export interface Borrowed {
  /** Notes the versions of records. */
  note(keys: Iterable<string>, versionOf: (key: string) => number): void;
  /**
   * The tab that follows has all records up to a version in the local storage. What this tab had read before, and that has
   * not, is gone: a whole read does not list what was removed, so that no news of it comes.
   */
  noteFollowed(state: SyncState | undefined): Promise<void>;
  clear(): void;
}

/** Creates the list of borrowed records of a copy. */
export function createBorrowed(
  { local, outbox, place }: { local: RecordStorage; outbox: Outbox; place: Place },
  copy: Copy,
): Borrowed {
  const versions = new Map<string, number>();
  return {
    note(keys, versionOf) {
      for (const key of keys) versions.set(key, versionOf(key));
    },
    async noteFollowed(state) {
      // older pages are still to come
      if (!state || state.cursor !== undefined) return;
      const known = [...versions].flatMap(([key, at]) => (at <= state.version ? [key] : []));
      if (known.length === 0) return;
      const stored = await local.read(place.name);
      for (const key of known) versions.delete(key);
      const gone = known.filter((key) => !stored.has(key) && !outbox.of(place.collection).has(key));
      for (const key of gone) copy.set(key, undefined);
      copy.notify(new Map(gone.map((key) => [key, undefined])));
    },
    clear: () => versions.clear(),
  };
}

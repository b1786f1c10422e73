import { type EntryCopy, recordOf } from "./records.js";
import type { VideoTaskEntry } from "./state.js";

/** Entries by key, each with the number of its changes, so that an older copy never wins. */
export interface EntryTable {
  /** Number of times that all entries were removed. What began before is not kept. */
  readonly generation: number;
  readonly newestFirst: () => readonly VideoTaskEntry[];
  readonly get: (key: string) => VideoTaskEntry | undefined;
  /** Returns the entry of a task. */
  readonly ofTask: (id: string) => VideoTaskEntry | undefined;
  /** Adds or changes an entry, and counts the change. */
  readonly put: (entry: VideoTaskEntry) => void;
  /** Shows an entry as something else without a change of its record. */
  readonly show: (entry: VideoTaskEntry) => void;
  /** Takes a copy from the storage or another tab if it is newer. Returns false if it is not. */
  readonly take: (copy: EntryCopy) => boolean;
  readonly remove: (key: string) => void;
  /** Removes all entries. */
  readonly clear: () => void;
  /** Returns the record of an entry as it is now; undefined, which removes the record, for no entry. */
  readonly recordOf: (key: string) => unknown;
}

/** Creates a table without entries. */
export function createEntryTable(): EntryTable {
  const entries = new Map<string, VideoTaskEntry>();
  const revisions = new Map<string, number>();
  let generation = 0;
  const show = (entry: VideoTaskEntry) => void entries.set(entry.key, entry);
  return {
    get generation() {
      return generation;
    },
    newestFirst: () => [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt),
    get: (key) => entries.get(key),
    ofTask: (id) => [...entries.values()].find(({ handle }) => handle?.id === id),
    put(entry) {
      show(entry);
      revisions.set(entry.key, (revisions.get(entry.key) ?? 0) + 1);
    },
    show,
    take({ entry, revision }) {
      if (revision <= (revisions.get(entry.key) ?? -1)) return false;
      revisions.set(entry.key, revision);
      show(entry);
      return true;
    },
    remove: (key) => void entries.delete(key),
    clear() {
      generation += 1;
      entries.clear();
    },
    recordOf: (key) => recordOf(entries.get(key), revisions.get(key)),
  };
}

import { type EntryCopy, recordOf } from "./records.js";
import type { VideoTaskEntry } from "./state.js";

/** Entries of a ledger by key. */
export interface EntryTable {
  readonly entries: Map<string, VideoTaskEntry>;
  /** Number of changes of each entry, so that an older copy never wins. */
  readonly revisions: Map<string, number>;
  /** Number of times that all was forgotten. What began before is not kept. */
  generation: number;
}

/** Creates a table without entries. */
export function createEntryTable(): EntryTable {
  return { entries: new Map(), revisions: new Map(), generation: 0 };
}

/** Returns all entries, newest first. */
export function newestFirst({ entries }: EntryTable): readonly VideoTaskEntry[] {
  return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
}

/** Returns the entry of a task. */
export function entryOf({ entries }: EntryTable, id: string): VideoTaskEntry | undefined {
  return [...entries.values()].find(({ handle }) => handle?.id === id);
}

/** Adds or changes an entry, and counts the change. */
export function putEntry({ entries, revisions }: EntryTable, entry: VideoTaskEntry): void {
  entries.set(entry.key, entry);
  revisions.set(entry.key, (revisions.get(entry.key) ?? 0) + 1);
}

/** Takes a copy from the storage or another tab if it is newer. Returns false if it is not. */
export function takeCopy({ entries, revisions }: EntryTable, { entry, revision }: EntryCopy): boolean {
  if (revision <= (revisions.get(entry.key) ?? -1)) return false;
  revisions.set(entry.key, revision);
  entries.set(entry.key, entry);
  return true;
}

/** Returns the record of an entry as it is now; undefined, which removes the record, for no entry. */
export function recordIn({ entries, revisions }: EntryTable, key: string): unknown {
  return recordOf(entries.get(key), revisions.get(key));
}

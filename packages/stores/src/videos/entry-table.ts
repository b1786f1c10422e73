import type { VideoTask } from "@sluice/core";
import { videos } from "@sluice/core/internal";
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

/** Returns the task of an entry if it has ended. */
export function endOf(entry: VideoTaskEntry | undefined): VideoTask | undefined {
  return entry?.task && videos.isFinal(entry.task) ? entry.task : undefined;
}

/**
 * Takes a copy from the storage or another tab if it is newer. The end of a task is taken from any copy, and kept: a tab
 * that was frozen may write what it knew before. `isBehind` is true where the storage may not have the end.
 */
export function takeCopy(
  { entries, revisions }: EntryTable,
  { entry, revision }: EntryCopy,
): { readonly isNewer: boolean; readonly isBehind: boolean } {
  const { key } = entry;
  const known = entries.get(key);
  const isNewer = revision > (revisions.get(key) ?? -1);
  if (isNewer) {
    revisions.set(key, revision);
    entries.set(key, withEnd(entry, known));
  } else if (known) entries.set(key, withEnd(known, entry));
  const isEnd = endOf(entry) !== undefined;
  const isKnown = endOf(known) !== undefined;
  return { isNewer, isBehind: known !== undefined && isEnd !== isKnown && !(isNewer && isEnd) };
}

/** Returns an entry with the end of its task, if the other one has that. */
function withEnd(entry: VideoTaskEntry, other: VideoTaskEntry | undefined): VideoTaskEntry {
  const task = endOf(other);
  if (!task || endOf(entry)) return entry;
  const { error: _, ...rest } = entry;
  return { ...rest, task };
}

/** Returns the record of an entry as it is now; undefined, which removes the record, for no entry. */
export function recordIn({ entries, revisions }: EntryTable, key: string): unknown {
  return recordOf(entries.get(key), revisions.get(key));
}

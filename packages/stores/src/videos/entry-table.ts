import type { VideoTask } from "@sluice/core";
import { videos } from "@sluice/core/extend";
import { type EntryCopy, toRecord } from "./records.js";
import type { VideoTaskEntry } from "./state.js";

/** Entries of a ledger by key. */
export interface EntryTable {
  readonly entries: Map<string, VideoTaskEntry>;
  /** Number of changes of each entry, so that an older copy never wins. */
  readonly revisions: Map<string, number>;
  /** Number of sign-outs. Submissions from before a sign-out are not stored. */
  generation: number;
}

/** Creates a table without entries. */
export function createEntryTable(): EntryTable {
  return { entries: new Map(), revisions: new Map(), generation: 0 };
}

/** Returns all entries, newest first. */
export function listNewestFirst({ entries }: EntryTable): readonly VideoTaskEntry[] {
  return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
}

/** Returns the entry of a task. */
export function findEntry({ entries }: EntryTable, id: string): VideoTaskEntry | undefined {
  return [...entries.values()].find(({ handle }) => handle?.id === id);
}

/** Adds or changes an entry, and counts the change. */
export function putEntry({ entries, revisions }: EntryTable, entry: VideoTaskEntry): void {
  entries.set(entry.key, entry);
  revisions.set(entry.key, (revisions.get(entry.key) ?? 0) + 1);
}

/** Returns the task of an entry if it has ended. */
export function findEnd(entry: VideoTaskEntry | undefined): VideoTask | undefined {
  return entry?.task && videos.isFinal(entry.task) ? entry.task : undefined;
}

/**
 * Merges a copy from the storage or another tab. A newer copy replaces the entry. The end of a task is taken from any copy,
 * because a frozen tab may write an older state later. `isBehind` is true if the storage may not have the end.
 */
export function mergeCopy(
  { entries, revisions }: EntryTable,
  { entry, revision }: EntryCopy,
): { readonly isNewer: boolean; readonly isBehind: boolean } {
  const { key } = entry;
  const known = entries.get(key);
  const isNewer = revision > (revisions.get(key) ?? -1);
  if (isNewer) {
    revisions.set(key, revision);
    entries.set(key, addEnd(entry, known));
  } else if (known) entries.set(key, addEnd(known, entry));
  const isEnd = findEnd(entry) !== undefined;
  const isKnown = findEnd(known) !== undefined;
  return { isNewer, isBehind: known !== undefined && isEnd !== isKnown && !(isNewer && isEnd) };
}

/** Adds the end of the task to an entry, if only the other entry has it. */
function addEnd(entry: VideoTaskEntry, other: VideoTaskEntry | undefined): VideoTaskEntry {
  const task = findEnd(other);
  if (!task || findEnd(entry)) return entry;
  const { error: _, ...rest } = entry;
  return { ...rest, task };
}

/** Creates the record of an entry. Without an entry returns undefined, which removes the record. */
export function createRecord({ entries, revisions }: EntryTable, key: string): unknown {
  return toRecord(entries.get(key), revisions.get(key));
}

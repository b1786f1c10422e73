import type { Client, RecordStorage, VideoTask } from "@sluice/core";
import { videos } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { registerForget } from "../storage/in-use.js";
import { createRecordWriter } from "../storage/record-writer.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import { type EntryCopy, parseCopy, toRecord } from "./records.js";
import type { VideoTaskEntry } from "./state.js";
import { markAfterReload, markAfterSubmission } from "./submission.js";

const COLLECTION = "video-tasks";

/** The entries of a client's video tasks: in memory, and in a storage that its pages share. */
export interface Entries {
  /** Returns all entries, newest first. */
  readonly listNewest: () => readonly VideoTaskEntry[];
  readonly get: (key: string) => VideoTaskEntry | undefined;
  /** Finds the entry of a task. */
  readonly find: (id: string) => VideoTaskEntry | undefined;
  /** Adds or changes an entry. Resolves when the storage has it or has failed, after at most 3 s. Never rejects. */
  readonly put: (entry: VideoTaskEntry) => Promise<void>;
  /** Removes an entry. Resolves like `put`. */
  readonly drop: (key: string) => Promise<void>;
  /** Reads the storage at the first call, then merges the changes of other tabs. Waits at most 3 s. Never rejects. */
  readonly restore: () => Promise<void>;
  /** Counts the sign-outs so far. A submission from before a sign-out is not stored. */
  readonly countSignOuts: () => number;
}

/**
 * Creates the entries of a client. Without a storage they last as long as the page.
 *
 * @param onChange called after each change
 * @param onEnd called with an entry of another tab whose task has ended
 */
export function createEntries(
  client: Client,
  given: RecordStorage | undefined,
  onChange: () => void,
  onEnd: (entry: VideoTaskEntry) => void,
): Entries {
  const entries = new Map<string, VideoTaskEntry>();
  /** Number of changes of each entry, so that an older copy never wins. */
  const revisions = new Map<string, number>();
  let signOuts = 0;
  let restoring: Promise<void> | undefined;
  const report = (error: unknown) => reportStorageFailure(client, error);
  const storage = given && getClientStorage(client, given);
  const writer =
    storage &&
    createRecordWriter({
      client,
      storage,
      collection: COLLECTION,
      createRecord: (key) => toRecord(entries.get(key), revisions.get(key)),
      onFailure: report,
    });
  // never unregistered, because the entries live as long as their client
  registerForget(client, () => {
    signOuts += 1;
    entries.clear();
    onChange();
  });
  return {
    listNewest,
    get: (key) => entries.get(key),
    find: (id) => [...entries.values()].find(({ handle }) => handle?.id === id),
    put,
    drop,
    restore() {
      restoring ??= read();
      return restoring;
    },
    countSignOuts: () => signOuts,
  };

  function listNewest(): readonly VideoTaskEntry[] {
    return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
  }

  function put(entry: VideoTaskEntry): Promise<void> {
    const { key } = entry;
    entries.set(key, entry);
    revisions.set(key, (revisions.get(key) ?? 0) + 1);
    return save(key);
  }

  function drop(key: string): Promise<void> {
    entries.delete(key);
    return save(key);
  }

  async function save(key: string): Promise<void> {
    onChange();
    writer?.mark(key);
    // limited, because an earlier write may hang and the caller waits to send a request
    if (writer) await waitForStorage(client.clock, writer.write).catch(() => {});
  }

  async function read(): Promise<void> {
    if (!storage) return;
    storage.subscribe(COLLECTION, (changes) => void merge(changes, false));
    const before = signOuts;
    const take = async (records: ReadonlyMap<string, unknown>) => {
      if (signOuts > before) return;
      await merge(records, true);
      for (const { key, task } of listNewest()) if (hasExpired(task)) void drop(key);
    };
    await readWhenPossible(client, () => storage.read(COLLECTION), take, report);
  }

  /** Merges records of the storage or another tab. */
  async function merge(records: ReadonlyMap<string, unknown>, isRestored: boolean): Promise<void> {
    for (const [key, record] of records) {
      if (record === undefined) entries.delete(key);
      const copy = parseCopy(key, record);
      if (!copy) continue;
      const isNewer = mergeCopy(copy);
      const entry = entries.get(key);
      if (entry && findEnd(entry)) onEnd(entry);
      if (!isNewer || copy.entry.state !== "submitting") continue;
      void showSubmission(copy.entry, markAfterSubmission(client, copy.entry));
      // the tab of a change event is open, but the tab of a restored entry may be closed
      if (isRestored) await showSubmission(copy.entry, markAfterReload(client, copy.entry));
    }
    onChange();
  }

  /**
   * Merges a copy. A newer copy replaces the entry. The end of a task is taken from any copy, because a frozen tab may
   * write an older state later. Returns true if the copy is newer.
   */
  function mergeCopy({ entry: copy, revision }: EntryCopy): boolean {
    const { key } = copy;
    const known = entries.get(key);
    const isNewer = revision > (revisions.get(key) ?? -1);
    if (isNewer) revisions.set(key, revision);
    if (!isNewer && !known) return false;
    const merged = isNewer || !known ? addEnd(copy, known) : addEnd(known, copy);
    entries.set(key, merged);
    const [isEnd, isKnown] = [findEnd(copy) !== undefined, findEnd(known) !== undefined];
    // the storage may not have the end that one of both lacks
    if (known && isEnd !== isKnown && !(isNewer && isEnd)) void put(merged);
    return isNewer;
  }

  /** Shows the result of a submission, unless another tab has changed or removed its entry. */
  async function showSubmission(entry: VideoTaskEntry, result: Promise<VideoTaskEntry>): Promise<void> {
    const marked = await result;
    if (marked === entry || entries.get(entry.key) !== entry) return;
    entries.set(entry.key, marked);
    onChange();
  }
}

/** Returns the task of an entry if it has ended. */
function findEnd(entry: VideoTaskEntry | undefined): VideoTask | undefined {
  return entry?.task && videos.isFinal(entry.task) ? entry.task : undefined;
}

/** Adds the end of the task to an entry, if only the other entry has it. */
function addEnd(entry: VideoTaskEntry, other: VideoTaskEntry | undefined): VideoTaskEntry {
  const task = findEnd(other);
  if (!task || findEnd(entry)) return entry;
  const { error: _, ...rest } = entry;
  return { ...rest, task };
}

/** Returns true if the link of the video has expired and the copy of the archive is deleted. */
function hasExpired(task: VideoTask | undefined): boolean {
  const end = task?.state === "succeeded" ? (task.storedUntil ?? task.expiresAt) : undefined;
  return end !== undefined && end < Date.now();
}

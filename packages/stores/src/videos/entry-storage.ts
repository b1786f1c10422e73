import type { Client, RecordStorage, VideoTask } from "@sluice/core";
import { reportStorageFailure } from "../base/platform-limits.js";
import { createRecordWriter } from "../storage/record-writer.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import { createRecord, type EntryTable, findEnd, listNewestFirst, mergeCopy } from "./entry-table.js";
import { parseCopy } from "./records.js";
import type { VideoTaskEntry } from "./state.js";
import { markAfterReload, markAfterSubmission } from "./submission.js";

const COLLECTION = "video-tasks";

/** The table of a ledger with its storage. */
export interface StoredTable {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly table: EntryTable;
  /** Called after each change of the table. */
  readonly onChange: () => void;
  /** Called with an entry of another tab whose task has ended. */
  readonly onEnd: (entry: VideoTaskEntry) => void;
  /** Stores an entry again. */
  readonly put: (entry: VideoTaskEntry) => void;
}

/**
 * Creates the function that stores the current entry of a key, or its removal. It waits at most 3 s for the storage, and
 * never rejects.
 */
export function createSave({ client, storage, table }: StoredTable): (key: string) => Promise<void> {
  const { mark, write } = createRecordWriter({
    client,
    storage,
    collection: COLLECTION,
    createRecord: (key) => createRecord(table, key),
    onFailure: (error) => reportStorageFailure(client, error),
  });
  return async (key) => {
    mark(key);
    // limited, because an earlier write may hang and the caller waits to send a request
    await waitForStorage(client.clock, write).catch(() => {});
  };
}

/**
 * Reads all entries of the storage into the table, then merges changes of other tabs.
 *
 * @param drop removes an entry whose video has expired
 */
export async function restoreEntries(stored: StoredTable, drop: (key: string) => void): Promise<void> {
  const { client, storage, table } = stored;
  storage.watch(COLLECTION, (changes) => void merge(stored, changes, false));
  const { generation } = table;
  const take = async (records: ReadonlyMap<string, unknown>) => {
    if (table.generation !== generation) return;
    await merge(stored, records, true);
    for (const { key, task } of listNewestFirst(table)) if (hasExpired(task)) drop(key);
  };
  const report = (error: unknown) => reportStorageFailure(client, error);
  await readWhenPossible(client, () => storage.read(COLLECTION), take, report);
}

/** Merges records into the table. */
async function merge(
  stored: StoredTable,
  records: ReadonlyMap<string, unknown>,
  isRestored: boolean,
): Promise<void> {
  const { client, table, onChange, onEnd, put } = stored;
  for (const [key, record] of records) {
    if (record === undefined) table.entries.delete(key);
    const copy = parseCopy(key, record);
    if (!copy) continue;
    const { isNewer, isBehind } = mergeCopy(table, copy);
    const entry = table.entries.get(key);
    if (entry && isBehind) put(entry);
    if (entry && findEnd(entry)) onEnd(entry);
    if (!isNewer || copy.entry.state !== "submitting") continue;
    void showSubmission(stored, copy.entry, markAfterSubmission(client, copy.entry));
    // the tab of a change event is open, but the tab of a restored entry may be closed
    if (isRestored) await showSubmission(stored, copy.entry, markAfterReload(client, copy.entry));
  }
  onChange();
}

/** Shows the result of a submission, unless another tab has changed or removed its entry. */
async function showSubmission(
  { table, onChange }: StoredTable,
  entry: VideoTaskEntry,
  result: Promise<VideoTaskEntry>,
): Promise<void> {
  const marked = await result;
  if (marked === entry || table.entries.get(entry.key) !== entry) return;
  table.entries.set(entry.key, marked);
  onChange();
}

/** Returns true if the link of the video has expired and the copy of the archive is deleted. */
function hasExpired(task: VideoTask | undefined): boolean {
  const end = task?.state === "succeeded" ? (task.storedUntil ?? task.expiresAt) : undefined;
  return end !== undefined && end < Date.now();
}

import type { Client, RecordStorage, VideoTask } from "@sluice/core";
import { reportStorageFailure } from "@sluice/core/internal";
import type { RecordWriter } from "../storage/record-writer.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import { type EntryTable, endOf, newestFirst, recordIn, takeCopy } from "./entry-table.js";
import { copyIn } from "./records.js";
import type { VideoTaskEntry } from "./state.js";
import { afterReload, afterSubmission } from "./submission.js";

const COLLECTION = "video-tasks";

/** The table of a ledger, and where it is kept. */
export interface KeptTable {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly table: EntryTable;
  /** Called after each change of the table. */
  readonly onChange: () => void;
  /** Called with an entry whose task has ended, as another tab has stored. */
  readonly onEnd: (entry: VideoTaskEntry) => void;
  /** Stores an entry anew. */
  readonly put: (entry: VideoTaskEntry) => void;
}

/** Writer of a table's entries. */
export interface EntryWriter {
  /** Loads the code that writes, which is otherwise loaded with the first change. */
  readonly load: () => void;
  /** Stores an entry as it is now, or its removal. Waits at most 3 s for the storage. Never rejects. */
  readonly keep: (key: string) => Promise<void>;
}

/** Creates the writer of a table. */
export function createEntryWriter({ client, storage, table }: KeptTable): EntryWriter {
  let opening: Promise<RecordWriter> | undefined;
  /** Keys of changes that the writer does not know yet: its code may have failed to load. */
  const changed = new Set<string>();
  const onFailure = (error: unknown) => reportStorageFailure(client, error);

  return {
    load: () => void open().catch(() => {}),
    async keep(key) {
      changed.add(key);
      // a write before it may hang, and the caller waits to send a request
      await waitForStorage(client.clock, writeChanged).catch(() => {});
    },
  };

  async function writeChanged(): Promise<void> {
    const { mark, write } = await open();
    for (const each of changed) mark(each);
    changed.clear();
    await write();
  }

  function open(): Promise<RecordWriter> {
    opening ??= import("../storage/record-writer-later.js").then(({ createRecordWriter }) =>
      createRecordWriter({
        client,
        storage,
        collection: COLLECTION,
        recordOf: (key) => recordIn(table, key),
        onFailure,
      }),
    );
    // without a network a part of the app can't be loaded: the next change tries again
    opening.catch((error) => {
      opening = undefined;
      onFailure(error);
    });
    return opening;
  }
}

/**
 * Reads all entries of the storage into the table, and takes part in the changes of other tabs from now on.
 *
 * @param drop removes an entry of which nothing is left
 */
export async function restoreEntries(kept: KeptTable, drop: (key: string) => void): Promise<void> {
  const { client, storage, table } = kept;
  storage.watch(COLLECTION, (changes) => void merge(kept, changes, false));
  const { generation } = table;
  const take = async (records: ReadonlyMap<string, unknown>) => {
    if (table.generation !== generation) return;
    await merge(kept, records, true);
    for (const { key, task } of newestFirst(table)) if (hasExpired(task)) drop(key);
  };
  const report = (error: unknown) => reportStorageFailure(client, error);
  await readWhenPossible(client, () => storage.read(COLLECTION), take, report);
}

/** Takes the records that are newer than the table's entries. */
async function merge(
  kept: KeptTable,
  records: ReadonlyMap<string, unknown>,
  isRestored: boolean,
): Promise<void> {
  const { client, table, onChange, onEnd, put } = kept;
  for (const [key, record] of records) {
    if (record === undefined) table.entries.delete(key);
    const copy = copyIn(key, record);
    if (!copy) continue;
    const { isNewer, isBehind } = takeCopy(table, copy);
    const entry = table.entries.get(key);
    if (entry && isBehind) put(entry);
    if (entry && endOf(entry)) onEnd(entry);
    if (!isNewer || copy.entry.state !== "submitting") continue;
    void adopt(kept, copy.entry, afterSubmission(client, copy.entry));
    // a tab that writes an entry is open; one that has written it may be closed
    if (isRestored) await adopt(kept, copy.entry, afterReload(client, copy.entry));
  }
  onChange();
}

/** Shows what became of a submission, unless another tab has changed or removed its entry meanwhile. */
async function adopt(
  { table, onChange }: KeptTable,
  entry: VideoTaskEntry,
  settled: Promise<VideoTaskEntry>,
): Promise<void> {
  const known = await settled;
  if (known === entry || table.entries.get(entry.key) !== entry) return;
  table.entries.set(entry.key, known);
  onChange();
}

/** Returns true if nothing of the video is left: its link has expired, and the copy of an archive is deleted. */
function hasExpired(task: VideoTask | undefined): boolean {
  const end = task?.state === "succeeded" ? (task.keptUntil ?? task.expiresAt) : undefined;
  return end !== undefined && end < Date.now();
}

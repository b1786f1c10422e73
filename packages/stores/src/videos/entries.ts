import type { Client, RecordStorage, VideoRequest, VideoTask, VideoTaskHandle } from "@sluice/core";
import { createStore, sendRequest, videos } from "@sluice/core/extend";
import { createRenewal, needsRenewal, renewLink } from "../archive/expiring-link.js";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { registerForget } from "../storage/forget.js";
import { createRecordWriter } from "../storage/record-writer.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import type { Presence } from "../tasks/page-presence.js";
import { getSharedWatch } from "../tasks/shared-poller.js";
import {
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchSettings,
  type WatchState,
} from "../tasks/watch-plan.js";
import { type EntryCopy, parseCopy, toRecord } from "./records.js";
import type { VideoTaskEntry, VideoTaskStoreOptions } from "./state.js";
import {
  markAfterReload,
  markAfterSubmission,
  type SubmissionOptions,
  submitVideoTask,
} from "./submission.js";

const COLLECTION = "video-tasks";

/** All video tasks of a client, in a storage that its pages share. A store of the entries, newest first. */
type VideoTaskEntries = ReturnType<typeof createEntries>;

const entriesByClient = new WeakMap<Client, Map<RecordStorage | undefined, VideoTaskEntries>>();

/**
 * Returns the entries of a client's video tasks in a storage. All callers share them. Without a storage they last as long as
 * the page.
 */
export function getVideoTaskEntries(
  client: Client,
  { storage, presence }: Pick<VideoTaskStoreOptions, "storage" | "presence">,
): VideoTaskEntries {
  const byStorage = entriesByClient.get(client) ?? new Map<RecordStorage | undefined, VideoTaskEntries>();
  entriesByClient.set(client, byStorage);
  const entries = byStorage.get(storage) ?? createEntries(client, storage, presence);
  byStorage.set(storage, entries);
  return entries;
}

function createEntries(client: Client, given: RecordStorage | undefined, presence: Presence | undefined) {
  const entries = new Map<string, VideoTaskEntry>();
  /** Number of changes of each entry, so that an older copy never wins. */
  const revisions = new Map<string, number>();
  const watches: WatchesInUse<VideoTask> = new Map();
  /** Number of sign-outs so far. A submission from before a sign-out is not stored. */
  let signOuts = 0;
  let restoring: Promise<void> | undefined;
  const store = createStore(listNewest, { clock: client.clock });
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
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore,
    /**
     * Creates a task from a checked request. The entry is stored before the request is sent.
     *
     * @throws the errors of `createVideoTask`
     */
    async submit(request: VideoRequest, options: SubmissionOptions): Promise<VideoTaskEntry> {
      // an earlier page may have sent the same request without a response
      if (client.idempotencyKeys) await restore();
      const before = signOuts;
      return submitVideoTask(client, request, options, {
        listNewest,
        put: async (entry) => (signOuts === before ? put(entry) : undefined),
        drop: async (key) => (signOuts === before ? drop(key) : undefined),
      });
    },
    /** Returns the watch of a task, one per task in this tab. It uses the settings of the last caller. */
    watch: (
      task: VideoTaskHandle,
      readSettings: () => WatchSettings<VideoTask>,
      known: WatchState<VideoTask> = unwatched,
    ): Watch<VideoTask> =>
      getSharedWatch({
        kind: videos,
        client,
        inUse: watches,
        readSettings,
        presence,
        // the entry may be restored later
        getHandle: () => findByTaskId(task.id)?.handle ?? task,
        known: { snapshot: findByTaskId(task.id)?.task ?? known.snapshot, error: known.error },
        renewal: createRenewal(client),
        onChange: (state) => saveState(task.id, state),
      }),
    /** Returns the handle of a task that was submitted here. */
    getHandle: (id: string) => findByTaskId(id)?.handle,
    remove(key: string): void {
      const { handle } = entries.get(key) ?? {};
      // the task is removed here, even if the proxy is unreachable
      if (handle?.watchedBy) dismissTask(client, handle.id).catch(() => {});
      void drop(key);
    },
    /** Renews expired links if a proxy stores copies. */
    async renew(): Promise<void> {
      await Promise.all(listNewest().map(renewEntry));
    },
  };

  /** Reads the storage at the first call, then merges the changes of other tabs. Waits at most 3 s. Never rejects. */
  function restore(): Promise<void> {
    restoring ??= read();
    return restoring;
  }

  function listNewest(): readonly VideoTaskEntry[] {
    return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
  }

  /** Finds the entry of a task. */
  function findByTaskId(id: string): VideoTaskEntry | undefined {
    return [...entries.values()].find(({ handle }) => handle?.id === id);
  }

  /** Adds or changes an entry. Resolves when the storage has it or has failed, after at most 3 s. Never rejects. */
  function put(entry: VideoTaskEntry): Promise<void> {
    const { key } = entry;
    entries.set(key, entry);
    revisions.set(key, (revisions.get(key) ?? 0) + 1);
    return save(key);
  }

  /** Removes an entry. Resolves like `put`. */
  function drop(key: string): Promise<void> {
    entries.delete(key);
    return save(key);
  }

  async function save(key: string): Promise<void> {
    store.flush();
    writer?.mark(key);
    // limited, because an earlier write may hang and the caller waits to send a request
    if (writer) await waitForStorage(client.clock, writer.write).catch(() => {});
  }

  async function read(): Promise<void> {
    if (!storage) return;
    storage.subscribe(COLLECTION, (changes) => void merge(changes, false));
    const before = signOuts;
    const handleRecords = async (records: ReadonlyMap<string, unknown>) => {
      if (signOuts > before) return;
      await merge(records, true);
      for (const { key, task } of listNewest()) if (hasExpired(task)) void drop(key);
    };
    await readWhenPossible(client, () => storage.read(COLLECTION), handleRecords, report);
  }

  /** Merges records of the storage or another tab. */
  async function merge(records: ReadonlyMap<string, unknown>, isRestored: boolean): Promise<void> {
    for (const [key, record] of records) {
      if (record === undefined) entries.delete(key);
      const copy = parseCopy(key, record);
      if (!copy) continue;
      const isNewer = mergeCopy(copy);
      const entry = entries.get(key);
      // the gateway may no longer know the task
      const end = findEnd(entry);
      if (end && entry?.handle) watches.get(entry.handle.id)?.watch.addSnapshot(end);
      if (!isNewer || copy.entry.state !== "submitting") continue;
      void showSubmission(copy.entry, markAfterSubmission(client, copy.entry));
      // the tab of a change event is open, but the tab of a restored entry may be closed
      if (isRestored) await showSubmission(copy.entry, markAfterReload(client, copy.entry));
    }
    store.flush();
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
    const [hasCopyEnded, hasEntryEnded] = [findEnd(copy) !== undefined, findEnd(known) !== undefined];
    // the storage may lack the end if only the entry or only the copy has it
    if (known && hasCopyEnded !== hasEntryEnded && !(isNewer && hasCopyEnded)) void put(merged);
    return isNewer;
  }

  /** Shows the result of a submission, unless another tab has changed or removed its entry. */
  async function showSubmission(entry: VideoTaskEntry, result: Promise<VideoTaskEntry>): Promise<void> {
    const marked = await result;
    if (marked === entry || entries.get(entry.key) !== entry) return;
    entries.set(entry.key, marked);
    store.flush();
  }

  /** Stores the state of a watch in the entry of its task. */
  function saveState(id: string, { snapshot, error }: WatchState<VideoTask>): void {
    const entry = findByTaskId(id);
    if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
    const { error: _, ...rest } = entry;
    void put({ ...rest, task: snapshot, ...(error && { error }) });
  }

  async function renewEntry(entry: VideoTaskEntry): Promise<void> {
    if (!needsRenewal(entry.task)) return;
    const task = await renewLink(client, entry.task);
    // skips an entry that was removed or changed during the renewal
    if (entries.get(entry.key) === entry) void put({ ...entry, task });
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

/** Tells the proxy that the user has removed a task. The webhook at the task's end reports it. */
async function dismissTask(client: Client, id: string): Promise<void> {
  const path = `/v1/video/generations/${encodeURIComponent(id)}/events`;
  // `keepalive`: the request survives the end of the page
  await sendRequest(client, path, { method: "DELETE", keepalive: true }, ({ body }) => body?.cancel());
}

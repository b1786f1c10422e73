import { reportStorageFailure } from "../base/platform-limits.js";
import { createStore, type Store } from "../base/store.js";
import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { storageOf } from "../storage/client-storage.js";
import { onForget } from "../storage/in-use.js";
import type { RecordWriter } from "../storage/record-writer.js";
import type { RecordStorage } from "../storage/storage.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import type { Presence } from "../tabs/page-activity.js";
import {
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchPlan,
  type WatchSettings,
  type WatchState,
} from "../tasks/shared-poller.js";
import { sharedWatch } from "../tasks/task-watch.js";
import { renewedLater } from "../uploads/expiring-link.js";
import type { SucceededVideoTask, VideoTask, VideoTaskReference } from "../vocabulary/video-task.js";
import { afterReload, afterSubmission, type SubmissionOptions, submitVideoTask } from "./create.js";
import type { VideoTaskStoreOptions } from "./options.js";
import { copyIn, recordOf } from "./records.js";
import type { VideoRequest } from "./schema/request.js";
import type { VideoTaskEntry } from "./state.js";
import { dismissVideoTask, isSettled, renewalAt, videos } from "./watch.js";

/** All video tasks that the pages of an app know, kept in a storage. */
export interface VideoTaskLedger extends Store<readonly VideoTaskEntry[]> {
  readonly restore: () => Promise<void>;
  /**
   * Creates a task from a checked request. Its entry is stored before the request is sent. Rejects as `createVideoTask`
   * does.
   */
  readonly submit: (
    request: VideoRequest | UncheckedRequest,
    options: SubmissionOptions,
  ) => Promise<VideoTaskEntry>;
  /** Returns the watch of a task: one for each task in this tab. It uses the settings of the last caller. */
  readonly watch: (
    task: VideoTaskReference,
    settings: () => WatchSettings<VideoTask>,
    known?: WatchState<VideoTask>,
  ) => Watch<VideoTask>;
  /** Returns the handle of a task that was submitted here. */
  readonly handleOf: (id: string) => VideoTaskReference | undefined;
  readonly remove: (key: string) => void;
  /** Renews the links that have expired, where a proxy keeps copies. */
  readonly renew: () => Promise<void>;
}

const COLLECTION = "video-tasks";

/** Creates the ledger of a client's tasks. Without `storage` it lasts as long as the page. */
export function createVideoTaskLedger(
  client: Client,
  { storage: given, presence }: { storage?: RecordStorage | undefined; presence?: Presence | undefined },
): VideoTaskLedger {
  const { clock } = client;
  const storage = given && storageOf(client, given);
  const entries = new Map<string, VideoTaskEntry>();
  // number of changes of each entry, so that an older copy never wins
  const revisions = new Map<string, number>();
  const watches: WatchesInUse<VideoTask> = new Map();
  let restoring: Promise<void> | undefined;
  const store = createStore(newestFirst, { clock });
  let opening: Promise<RecordWriter> | undefined;
  /** Keys of changes that the writer does not know yet: its code may have failed to load. */
  const changed = new Set<string>();
  /** Number of times that all was forgotten. What began before is not kept. */
  let generation = 0;
  // the ledger lives as long as its client
  onForget(client, () => {
    generation += 1;
    entries.clear();
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore: restoreOnce,
    async submit(request, options) {
      // a page before this one may have left the same request without an answer
      if (client.idempotencyKeys) await restoreOnce();
      return submitVideoTask(client, request, options, { ...keeperOf(generation), newest: newestFirst });
    },
    watch: (task, settings, known = unwatched) =>
      sharedWatch(videos, client, {
        inUse: watches,
        // the entry may be restored later
        handleOf: () => entryOf(task.id)?.handle ?? task,
        settings,
        presence,
        known: { snapshot: entryOf(task.id)?.task ?? known.snapshot, error: known.error },
        planOf: (usual) => planOf(usual, task.id),
      }),
    handleOf: (id) => entryOf(id)?.handle,
    remove(key) {
      const { handle } = entries.get(key) ?? {};
      if (handle) dismissVideoTask(client, handle);
      entries.delete(key);
      void keep(key);
    },
    async renew() {
      const due = newestFirst().filter(({ task }) => isOutdated(task));
      await Promise.all(
        due.map(async (entry) => {
          // an entry that was removed or changed meanwhile stays so
          for await (const task of renewed(entry.task as SucceededVideoTask))
            if (entries.get(entry.key) === entry) void put({ ...entry, task });
        }),
      );
    },
  };

  function restoreOnce(): Promise<void> {
    restoring ??= restore();
    return restoring;
  }

  function newestFirst(): readonly VideoTaskEntry[] {
    return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
  }

  /** Keeps the answers of a watch in its entry, and renews links. */
  function planOf(usual: WatchPlan<VideoTask>, id: string): WatchPlan<VideoTask> {
    return {
      ...usual,
      async *poll(onPoll, signal, seen) {
        if (isOutdated(seen)) return yield* renewed(seen);
        // a link that has expired before the page saw the end is not shown
        for await (const next of usual.poll(onPoll, signal, seen))
          if (isOutdated(next)) yield* renewed(next);
          else yield next;
      },
      isFinal: isSettled,
      dueAt: renewalAt,
      onChange({ snapshot, error }) {
        const entry = entryOf(id);
        if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
        const { error: _, ...rest } = entry;
        void put({ ...rest, task: snapshot, ...(error && { error }) });
      },
    };
  }

  /** Yields the task with a new link. Never throws: an old link is no reason to lose a video. */
  async function* renewed(task: SucceededVideoTask): AsyncGenerator<VideoTask> {
    yield await import("./archive.js")
      .then(({ renewedTask }) => renewedTask(client, task))
      .catch(() => renewedLater(task));
  }

  function entryOf(id: string): VideoTaskEntry | undefined {
    return [...entries.values()].find(({ handle }) => handle?.id === id);
  }

  /** Keeps the entries of a submission, unless all was forgotten meanwhile. */
  function keeperOf(begun: number) {
    const isKept = () => begun === generation;
    return {
      put: async (entry: VideoTaskEntry) => (isKept() ? put(entry) : undefined),
      drop: async (key: string) => (isKept() ? drop(key) : undefined),
    };
  }

  function put(entry: VideoTaskEntry): Promise<void> {
    entries.set(entry.key, entry);
    revisions.set(entry.key, (revisions.get(entry.key) ?? 0) + 1);
    return keep(entry.key);
  }

  function drop(key: string): Promise<void> {
    entries.delete(key);
    return keep(key);
  }

  /** Shows an entry, and stores it. */
  async function keep(key: string): Promise<void> {
    store.flush();
    if (!storage) return;
    changed.add(key);
    // a write before it may hang, and the caller waits to send a request
    const write = async () => {
      const { mark, write } = await writerOf(storage);
      for (const each of changed) mark(each);
      changed.clear();
      await write();
    };
    await waitForStorage(clock, write).catch(() => {});
  }

  /** Loads the writer with the first change. */
  function writerOf(storage: RecordStorage): Promise<RecordWriter> {
    opening ??= import("../storage/record-writer.js").then(({ createRecordWriter }) =>
      createRecordWriter({
        client,
        storage,
        collection: COLLECTION,
        recordOf: (key) => recordOf(entries.get(key), revisions.get(key)),
        onFailure: report,
      }),
    );
    // without a network a part of the app can't be loaded: the next change tries again
    opening.catch((error) => {
      opening = undefined;
      report(error);
    });
    return opening;
  }

  async function restore(): Promise<void> {
    if (!storage) return;
    void writerOf(storage).catch(() => {});
    storage.watch(COLLECTION, (changes) => void merge(changes, false));
    const begun = generation;
    const take = (records: ReadonlyMap<string, unknown>) =>
      begun === generation ? mergeAll(records) : Promise.resolve();
    await readWhenPossible(client, () => storage.read(COLLECTION), take, report);
  }

  async function mergeAll(records: ReadonlyMap<string, unknown>): Promise<void> {
    await merge(records, true);
    for (const { key, task } of entries.values()) if (hasExpired(task)) void drop(key);
  }

  async function merge(records: ReadonlyMap<string, unknown>, isRestored: boolean): Promise<void> {
    for (const [key, record] of records) {
      if (record === undefined) entries.delete(key);
      const copy = copyIn(key, record);
      if (!copy || copy.revision <= (revisions.get(key) ?? -1)) continue;
      revisions.set(key, copy.revision);
      entries.set(key, copy.entry);
      if (copy.entry.state !== "submitting") continue;
      void adopt(copy.entry, afterSubmission(client, copy.entry));
      // a tab that writes an entry is open; one that has written it may be closed
      if (isRestored) await adopt(copy.entry, afterReload(client, copy.entry));
    }
    store.flush();
  }

  /** Shows what became of a submission, unless another tab has changed or removed its entry meanwhile. */
  async function adopt(entry: VideoTaskEntry, settled: Promise<VideoTaskEntry>): Promise<void> {
    const known = await settled;
    if (known === entry || entries.get(entry.key) !== entry) return;
    entries.set(entry.key, known);
    store.flush();
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}

/** Returns true for a video whose link has expired, and can be renewed. */
function isOutdated(task: VideoTask | undefined): task is SucceededVideoTask {
  return task?.state === "succeeded" && !isSettled(task);
}

/** Returns true if nothing of the video is left: its link has expired, and the copy of an archive is deleted. */
function hasExpired(task: VideoTask | undefined): boolean {
  const end = task?.state === "succeeded" ? (task.keptUntil ?? task.expiresAt) : undefined;
  return end !== undefined && end < Date.now();
}

const ledgers = new WeakMap<Client, Map<RecordStorage | undefined, VideoTaskLedger>>();

/** Returns the ledger of a client's tasks in a storage: one for all callers. */
export function videoTaskLedgerOf(
  client: Client,
  { storage, presence }: Pick<VideoTaskStoreOptions, "storage" | "presence">,
): VideoTaskLedger {
  const ofClient = ledgers.get(client) ?? new Map<RecordStorage | undefined, VideoTaskLedger>();
  ledgers.set(client, ofClient);
  const ledger = ofClient.get(storage) ?? createVideoTaskLedger(client, { storage, presence });
  ofClient.set(storage, ledger);
  return ledger;
}

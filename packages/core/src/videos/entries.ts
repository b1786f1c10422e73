import { reportStorageFailure } from "../base/platform-limits.js";
import { createStore, type Store } from "../base/store.js";
import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import {
  sharedWatch,
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchPlan,
  type WatchState,
} from "../polling/shared-poller.js";
import type { RecordStorage } from "../storage/storage.js";
import { waitForStorage } from "../storage/wait.js";
import { type Presence, pagePresence } from "../tabs/page-activity.js";
import type { VideoTask, VideoTaskReference } from "../video-task.js";
import { afterReload, type SubmissionOptions, submitVideoTask } from "./create.js";
import type { VideoTaskStoreOptions, WatchSettings } from "./options.js";
import { copyIn, recordOf } from "./records.js";
import type { VideoRequest } from "./schema/request.js";
import type { VideoTaskEntry } from "./state.js";
import { newerTask, watchVideoTask } from "./watch.js";

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
    settings: () => WatchSettings,
    known?: WatchState<VideoTask>,
  ) => Watch<VideoTask>;
  /** Returns the handle of a task that was submitted here. */
  readonly handleOf: (id: string) => VideoTaskReference | undefined;
  readonly remove: (key: string) => void;
}

const INTERVAL_MS = 15_000;
const COLLECTION = "video-tasks";

/** Creates the ledger of a client's tasks. Without `storage` it lasts as long as the page. */
export function createVideoTaskLedger(
  client: Client,
  {
    storage,
    presence = pagePresence,
  }: { storage?: RecordStorage | undefined; presence?: Presence | undefined },
): VideoTaskLedger {
  const { clock } = client;
  const entries = new Map<string, VideoTaskEntry>();
  // number of changes of each entry, so that an older copy never wins
  const revisions = new Map<string, number>();
  const watches: WatchesInUse<VideoTask, WatchSettings> = new Map();
  let restoring: Promise<void> | undefined;
  const store = createStore(newestFirst, { throttleMs: 0, clock });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore() {
      restoring ??= restore().catch(report);
      return restoring;
    },
    submit: (request, options) => submitVideoTask(client, request, options, { put, drop }),
    watch: (task, settings, known = unwatched) =>
      sharedWatch(watches, task.id, settings, (shared) => planOf(task, shared, known)),
    handleOf: (id) => entryOf(id)?.handle,
    remove(key) {
      entries.delete(key);
      void keep(key);
    },
  };

  function newestFirst(): readonly VideoTaskEntry[] {
    return [...entries.values()].sort((a, b) => b.submittedAt - a.submittedAt);
  }

  function planOf(
    task: VideoTaskReference,
    settings: () => WatchSettings,
    known: WatchState<VideoTask>,
  ): Omit<WatchPlan<VideoTask>, "onUse"> {
    const { id } = task;
    const { snapshot = known.snapshot } = { snapshot: entryOf(id)?.task };
    return {
      name: `sluice/video/${client.baseURL}/${id}`,
      client,
      presence,
      known: { snapshot, error: known.error },
      inBackground: () => settings().pollInBackground ?? false,
      poll: (onPoll, signal, seen) =>
        watchVideoTask(client, entryOf(id)?.handle ?? task, {
          onPoll,
          signal,
          seenBefore: seen !== undefined,
          intervalMs: (snapshot) => intervalOf(settings().intervalMs, snapshot),
        }),
      merge: newerTask,
      isFinal: ({ state }) => state === "succeeded" || state === "failed",
      onChange({ snapshot, error }) {
        const entry = entryOf(id);
        if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
        const { error: _, ...rest } = entry;
        void put({ ...rest, task: snapshot, ...(error && { error }) });
      },
    };
  }

  function entryOf(id: string): VideoTaskEntry | undefined {
    return [...entries.values()].find(({ handle }) => handle?.id === id);
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
    const record = recordOf(entries.get(key), revisions.get(key));
    if (storage)
      await waitForStorage(clock, () => storage.write(COLLECTION, new Map([[key, record]]))).catch(report);
  }

  async function restore(): Promise<void> {
    if (!storage) return;
    // a tab that writes the entry is open, and knows the state of its request
    storage.watch(COLLECTION, (changes) => void merge(changes, (entry) => entry), report);
    await mergeAll(await waitForStorage(clock, () => storage.read(COLLECTION), mergeAll));
  }

  async function mergeAll(records: ReadonlyMap<string, unknown>): Promise<void> {
    await merge(records, (entry) => afterReload(client, entry));
    for (const { key, task } of entries.values()) if (hasExpired(task)) void drop(key);
  }

  async function merge(
    records: ReadonlyMap<string, unknown>,
    found: (entry: VideoTaskEntry) => VideoTaskEntry | Promise<VideoTaskEntry>,
  ): Promise<void> {
    for (const [key, record] of records) {
      if (record === undefined) entries.delete(key);
      const copy = copyIn(key, record);
      if (!copy || copy.revision <= (revisions.get(key) ?? -1)) continue;
      revisions.set(key, copy.revision);
      entries.set(key, await found(copy.entry));
    }
    store.flush();
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}

function intervalOf(interval: WatchSettings["intervalMs"], task: VideoTask | undefined): number {
  return typeof interval === "function" ? interval(task) : (interval ?? INTERVAL_MS);
}

/** Returns the entry without a link that has expired. */
function hasExpired(task: VideoTask | undefined): boolean {
  return task?.state === "succeeded" && task.expiresAt !== undefined && task.expiresAt < Date.now();
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

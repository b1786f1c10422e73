import type {
  Client,
  Presence,
  RecordStorage,
  Store,
  VideoRequest,
  VideoTask,
  VideoTaskHandle,
} from "@sluice/core";
import { createStore, dismissVideoTask, videos } from "@sluice/core/internal";
import { storageOf } from "../storage/client-storage.js";
import { onForget } from "../storage/in-use.js";
import { sharedWatch } from "../tasks/task-watch.js";
import {
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchSettings,
  type WatchState,
} from "../tasks/watch-plan.js";
import { createEntryWriter, restoreEntries } from "./entry-storage.js";
import { createEntryTable, entryOf, newestFirst, putEntry } from "./entry-table.js";
import type { VideoTaskStoreOptions } from "./options.js";
import { isOutdated, renewed, renewingPlan } from "./renewal.js";
import type { VideoTaskEntry } from "./state.js";
import { type SubmissionOptions, submitVideoTask } from "./submission.js";

/** All video tasks that the pages of an app know, kept in a storage. */
export interface VideoTaskLedger extends Store<readonly VideoTaskEntry[]> {
  readonly restore: () => Promise<void>;
  /**
   * Creates a task from a checked request. Its entry is stored before the request is sent. Rejects as `createVideoTask`
   * does.
   */
  readonly submit: (request: VideoRequest, options: SubmissionOptions) => Promise<VideoTaskEntry>;
  /** Returns the watch of a task: one for each task in this tab. It uses the settings of the last caller. */
  readonly watch: (
    task: VideoTaskHandle,
    settings: () => WatchSettings<VideoTask>,
    known?: WatchState<VideoTask>,
  ) => Watch<VideoTask>;
  /** Returns the handle of a task that was submitted here. */
  readonly handleOf: (id: string) => VideoTaskHandle | undefined;
  readonly remove: (key: string) => void;
  /** Renews the links that have expired, where a proxy keeps copies. */
  readonly renew: () => Promise<void>;
}

/** Creates the ledger of a client's tasks. Without `storage` it lasts as long as the page. */
export function createVideoTaskLedger(
  client: Client,
  { storage: given, presence }: { storage?: RecordStorage | undefined; presence?: Presence | undefined },
): VideoTaskLedger {
  const table = createEntryTable();
  const newest = () => newestFirst(table);
  const store = createStore(newest, { clock: client.clock });
  const kept = given && {
    client,
    storage: storageOf(client, given),
    table,
    onChange: store.flush,
    // the gateway may have forgotten the task
    onEnd: ({ handle, task }: VideoTaskEntry) => handle && task && watches.get(handle.id)?.watch.take(task),
    put: (entry: VideoTaskEntry) => void put(entry),
  };
  const writer = kept && createEntryWriter(kept);
  const watches: WatchesInUse<VideoTask> = new Map();
  let restoring: Promise<void> | undefined;
  // the ledger lives as long as its client
  onForget(client, () => {
    table.generation += 1;
    table.entries.clear();
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore,
    async submit(request, options) {
      // a page before this one may have left the same request without an answer
      if (client.idempotencyKeys) await restore();
      const { generation } = table;
      // a submission leaves nothing behind if all was forgotten meanwhile
      const isKept = () => table.generation === generation;
      return submitVideoTask(client, request, options, {
        newest,
        put: async (entry) => (isKept() ? put(entry) : undefined),
        drop: async (key) => (isKept() ? drop(key) : undefined),
      });
    },
    watch: (task, settings, known = unwatched) =>
      sharedWatch(videos, client, {
        inUse: watches,
        // the entry may be restored later
        handleOf: () => entryOf(table, task.id)?.handle ?? task,
        settings,
        presence,
        known: { snapshot: entryOf(table, task.id)?.task ?? known.snapshot, error: known.error },
        planOf: (usual) => ({
          ...renewingPlan(client, usual),
          onChange: (state) => keepState(task.id, state),
        }),
      }),
    handleOf: (id) => entryOf(table, id)?.handle,
    remove(key) {
      const { handle } = table.entries.get(key) ?? {};
      if (handle) dismissVideoTask(client, handle);
      void drop(key);
    },
    async renew() {
      await Promise.all(newest().map(renewEntry));
    },
  };

  function restore(): Promise<void> {
    if (!kept || !writer) return Promise.resolve();
    if (!restoring) {
      writer.load();
      restoring = restoreEntries(kept, (key) => void drop(key));
    }
    return restoring;
  }

  function put(entry: VideoTaskEntry): Promise<void> {
    putEntry(table, entry);
    return keep(entry.key);
  }

  function drop(key: string): Promise<void> {
    table.entries.delete(key);
    return keep(key);
  }

  /** Shows an entry, and stores it. */
  async function keep(key: string): Promise<void> {
    store.flush();
    await writer?.keep(key);
  }

  /** Keeps the state of a watch in the entry of its task. */
  function keepState(id: string, { snapshot, error }: WatchState<VideoTask>): void {
    const entry = entryOf(table, id);
    if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
    const { error: _, ...rest } = entry;
    void put({ ...rest, task: snapshot, ...(error && { error }) });
  }

  async function renewEntry(entry: VideoTaskEntry): Promise<void> {
    if (!isOutdated(entry.task)) return;
    const task = await renewed(client, entry.task);
    // an entry that was removed or changed meanwhile stays so
    if (table.entries.get(entry.key) === entry) void put({ ...entry, task });
  }
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

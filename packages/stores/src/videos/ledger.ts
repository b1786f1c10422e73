import type {
  Client,
  Presence,
  RecordStorage,
  Store,
  VideoRequest,
  VideoTask,
  VideoTaskHandle,
} from "@sluice/core";
import { createStore, requestOnce, videos } from "@sluice/core/extend";
import { getClientStorage } from "../storage/client-storage.js";
import { registerForget } from "../storage/in-use.js";
import { getSharedWatch } from "../tasks/task-watch.js";
import {
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchSettings,
  type WatchState,
} from "../tasks/watch-plan.js";
import { createSave, restoreEntries } from "./entry-storage.js";
import { createEntryTable, findEntry, listNewestFirst, putEntry } from "./entry-table.js";
import { createRenewingPlan, isOutdated, renewLink } from "./renewal.js";
import type { VideoTaskEntry, VideoTaskStoreOptions } from "./state.js";
import { type SubmissionOptions, submitVideoTask } from "./submission.js";

/** All video tasks of an app, in a storage that its pages share. */
export interface VideoTaskLedger extends Store<readonly VideoTaskEntry[]> {
  readonly restore: () => Promise<void>;
  /**
   * Creates a task from a checked request. The entry is stored before the request is sent. Rejects with the errors of
   * `createVideoTask`.
   */
  readonly submit: (request: VideoRequest, options: SubmissionOptions) => Promise<VideoTaskEntry>;
  /** Returns the watch of a task, one per task in this tab. It uses the settings of the last caller. */
  readonly watch: (
    task: VideoTaskHandle,
    readSettings: () => WatchSettings<VideoTask>,
    known?: WatchState<VideoTask>,
  ) => Watch<VideoTask>;
  /** Returns the handle of a task that was submitted here. */
  readonly getHandle: (id: string) => VideoTaskHandle | undefined;
  readonly remove: (key: string) => void;
  /** Renews expired links if a proxy stores copies. */
  readonly renew: () => Promise<void>;
}

/** Creates the ledger of a client's tasks. Without `storage` it lasts as long as the page. */
export function createVideoTaskLedger(
  client: Client,
  { storage: given, presence }: { storage?: RecordStorage | undefined; presence?: Presence | undefined },
): VideoTaskLedger {
  const table = createEntryTable();
  const listNewest = () => listNewestFirst(table);
  const store = createStore(listNewest, { clock: client.clock });
  const stored = given && {
    client,
    storage: getClientStorage(client, given),
    table,
    onChange: store.flush,
    // the gateway may no longer know the task
    onEnd: ({ handle, task }: VideoTaskEntry) => handle && task && watches.get(handle.id)?.watch.take(task),
    put: (entry: VideoTaskEntry) => void put(entry),
  };
  const write = stored && createSave(stored);
  const watches: WatchesInUse<VideoTask> = new Map();
  let restoring: Promise<void> | undefined;
  // never unregistered, because the ledger lives as long as its client
  registerForget(client, () => {
    table.generation += 1;
    table.entries.clear();
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore,
    async submit(request, options) {
      // an earlier page may have sent the same request without a response
      if (client.idempotencyKeys) await restore();
      const { generation } = table;
      // after a sign-out, a submission in flight stores nothing
      const isCurrent = () => table.generation === generation;
      return submitVideoTask(client, request, options, {
        listNewest,
        put: async (entry) => (isCurrent() ? put(entry) : undefined),
        drop: async (key) => (isCurrent() ? drop(key) : undefined),
      });
    },
    watch: (task, readSettings, known = unwatched) =>
      getSharedWatch(videos, client, {
        inUse: watches,
        // the entry may be restored later
        getHandle: () => findEntry(table, task.id)?.handle ?? task,
        readSettings,
        presence,
        known: { snapshot: findEntry(table, task.id)?.task ?? known.snapshot, error: known.error },
        adaptPlan: (usual) => ({
          ...createRenewingPlan(client, usual),
          onChange: (state) => saveState(task.id, state),
        }),
      }),
    getHandle: (id) => findEntry(table, id)?.handle,
    remove(key) {
      const { handle } = table.entries.get(key) ?? {};
      // the task is removed here, even if the proxy is unreachable
      if (handle?.watchedBy) dismissTask(client, handle.id).catch(() => {});
      void drop(key);
    },
    async renew() {
      await Promise.all(listNewest().map(renewEntry));
    },
  };

  function restore(): Promise<void> {
    if (!stored) return Promise.resolve();
    restoring ??= restoreEntries(stored, (key) => void drop(key));
    return restoring;
  }

  function put(entry: VideoTaskEntry): Promise<void> {
    putEntry(table, entry);
    return save(entry.key);
  }

  function drop(key: string): Promise<void> {
    table.entries.delete(key);
    return save(key);
  }

  /** Shows an entry, and stores it. */
  async function save(key: string): Promise<void> {
    store.flush();
    await write?.(key);
  }

  /** Stores the state of a watch in the entry of its task. */
  function saveState(id: string, { snapshot, error }: WatchState<VideoTask>): void {
    const entry = findEntry(table, id);
    if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
    const { error: _, ...rest } = entry;
    void put({ ...rest, task: snapshot, ...(error && { error }) });
  }

  async function renewEntry(entry: VideoTaskEntry): Promise<void> {
    if (!isOutdated(entry.task)) return;
    const task = await renewLink(client, entry.task);
    // skips an entry that was removed or changed during the renewal
    if (table.entries.get(entry.key) === entry) void put({ ...entry, task });
  }
}

/** Tells the proxy that the user has removed a task. The webhook at the task's end reports it. */
async function dismissTask(client: Client, id: string): Promise<void> {
  const path = `/v1/video/generations/${encodeURIComponent(id)}/events`;
  // `keepalive`: the request survives the end of the page
  await requestOnce(client, path, { method: "DELETE", keepalive: true }, ({ body }) => body?.cancel());
}

const ledgers = new WeakMap<Client, Map<RecordStorage | undefined, VideoTaskLedger>>();

/** Returns the ledger of a client's tasks in a storage. All callers share it. */
export function getVideoTaskLedger(
  client: Client,
  { storage, presence }: Pick<VideoTaskStoreOptions, "storage" | "presence">,
): VideoTaskLedger {
  const ofClient = ledgers.get(client) ?? new Map<RecordStorage | undefined, VideoTaskLedger>();
  ledgers.set(client, ofClient);
  const ledger = ofClient.get(storage) ?? createVideoTaskLedger(client, { storage, presence });
  ofClient.set(storage, ledger);
  return ledger;
}

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
import { getSharedWatch } from "../tasks/task-watch.js";
import {
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchSettings,
  type WatchState,
} from "../tasks/watch-plan.js";
import { createEntries } from "./entries.js";
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
  { storage, presence }: { storage?: RecordStorage | undefined; presence?: Presence | undefined },
): VideoTaskLedger {
  const watches: WatchesInUse<VideoTask> = new Map();
  const entries = createEntries(
    client,
    storage,
    () => store.flush(),
    // the gateway may no longer know the task
    ({ handle, task }) => handle && task && watches.get(handle.id)?.watch.take(task),
  );
  const { listNewest, find, put, drop, restore, countSignOuts } = entries;
  const store = createStore(listNewest, { clock: client.clock });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    restore,
    async submit(request, options) {
      // an earlier page may have sent the same request without a response
      if (client.idempotencyKeys) await restore();
      const before = countSignOuts();
      // after a sign-out, a submission in flight stores nothing
      const isCurrent = () => countSignOuts() === before;
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
        getHandle: () => find(task.id)?.handle ?? task,
        readSettings,
        presence,
        known: { snapshot: find(task.id)?.task ?? known.snapshot, error: known.error },
        adaptPlan: (usual) => ({
          ...createRenewingPlan(client, usual),
          onChange: (state) => saveState(task.id, state),
        }),
      }),
    getHandle: (id) => find(id)?.handle,
    remove(key) {
      const { handle } = entries.get(key) ?? {};
      // the task is removed here, even if the proxy is unreachable
      if (handle?.watchedBy) dismissTask(client, handle.id).catch(() => {});
      void drop(key);
    },
    async renew() {
      await Promise.all(listNewest().map(renewEntry));
    },
  };

  /** Stores the state of a watch in the entry of its task. */
  function saveState(id: string, { snapshot, error }: WatchState<VideoTask>): void {
    const entry = find(id);
    if (!entry || snapshot === undefined || (snapshot === entry.task && error === entry.error)) return;
    const { error: _, ...rest } = entry;
    void put({ ...rest, task: snapshot, ...(error && { error }) });
  }

  async function renewEntry(entry: VideoTaskEntry): Promise<void> {
    if (!isOutdated(entry.task)) return;
    const task = await renewLink(client, entry.task);
    // skips an entry that was removed or changed during the renewal
    if (entries.get(entry.key) === entry) void put({ ...entry, task });
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

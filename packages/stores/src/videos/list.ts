import type { Client, Store } from "@sluice/core";
import { callAfter, createStore, noteOptions } from "@sluice/core/extend";
import { getRenewalTime, isSettled } from "../archive/expiring-link.js";
import { getVideoTaskEntries } from "./entries.js";
import type { VideoTaskEntry, VideoTaskListOptions, VideoTaskStoreOptions } from "./state.js";

/** The list of all submitted video tasks that were not removed, newest first. */
export interface VideoTaskList extends Store<readonly VideoTaskEntry[]> {
  /** Removes a task from the list. The task continues at the gateway. */
  remove(key: string): void;
}

/**
 * Creates the list of a client's video tasks. Unfinished tasks are polled while the list has subscribers.
 *
 * @example
 * ```ts
 * const list = createVideoTaskList(client, { storage: indexedDBStorage() });
 * list.subscribe(() => render(list.getSnapshot()));
 * ```
 */
export function createVideoTaskList(client: Client, options: VideoTaskListOptions = {}): VideoTaskList {
  noteOptions("createVideoTaskList or useVideoTasks", options, client);
  const entries = getVideoTaskEntries(client, options);
  const settings = () => options;
  const watching = new Map<string, () => void>();
  /** Aborts the wait for the next link that expires. */
  let waking = new AbortController();
  const store = createStore(entries.getSnapshot, {
    clock: client.clock,
    onUse() {
      const unsubscribeEntries = entries.subscribe(watchUnfinished);
      void entries.restore();
      watchUnfinished();
      return () => {
        unsubscribeEntries();
        waking.abort();
        for (const unsubscribe of watching.values()) unsubscribe();
        watching.clear();
      };
    },
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, remove: entries.remove };

  function watchUnfinished(): void {
    watchAll();
    store.flush();
    waking.abort();
    waking = new AbortController();
    const now = Date.now();
    const lives = entries.getSnapshot().map(({ task }) => getRenewalTime(task) - now);
    callAfter(client.clock, Math.min(...lives.filter((ms) => ms > 0)), waking.signal, watchUnfinished);
  }

  function watchAll(): void {
    const open = entries.getSnapshot().filter(({ task }) => !isSettled(task));
    const unfinished = new Map(open.flatMap(({ handle }) => (handle ? [[handle.id, handle] as const] : [])));
    for (const [id, unsubscribe] of watching) {
      if (unfinished.has(id)) continue;
      unsubscribe();
      watching.delete(id);
    }
    for (const [id, handle] of unfinished)
      if (!watching.has(id))
        watching.set(
          id,
          entries.watch(handle, settings).subscribe(() => {}),
        );
  }
}

/**
 * Reads all video tasks of a storage, newest first, without a request to the gateway. If the proxy stores copies, it renews
 * expired links.
 *
 * @example
 * ```ts run
 * const entries = await listVideoTasks(client, { storage: memoryStorage() });
 * console.log(entries.map(({ label, state }) => `${label}: ${state}`));
 * ```
 */
export async function listVideoTasks(
  client: Client,
  options: Pick<VideoTaskStoreOptions, "storage">,
): Promise<readonly VideoTaskEntry[]> {
  const entries = getVideoTaskEntries(client, options);
  await entries.restore();
  await entries.renew();
  return entries.getSnapshot();
}

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
  const readSettings = () => options;
  const subscriptions = new Map<string, () => void>();
  /** Aborts the wait for the next link that expires. */
  let wakeUp = new AbortController();
  const store = createStore(entries.getSnapshot, {
    clock: client.clock,
    onUse() {
      const unsubscribeEntries = entries.subscribe(watchUnfinished);
      void entries.restore();
      watchUnfinished();
      return () => {
        unsubscribeEntries();
        wakeUp.abort();
        for (const unsubscribe of subscriptions.values()) unsubscribe();
        subscriptions.clear();
      };
    },
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, remove: entries.remove };

  function watchUnfinished(): void {
    watchAll();
    store.flush();
    wakeUp.abort();
    wakeUp = new AbortController();
    const now = Date.now();
    const waits = entries.getSnapshot().map(({ task }) => getRenewalTime(task) - now);
    callAfter(client.clock, Math.min(...waits.filter((ms) => ms > 0)), wakeUp.signal, watchUnfinished);
  }

  function watchAll(): void {
    const active = entries.getSnapshot().filter(({ task }) => !isSettled(task));
    const unfinished = new Map(
      active.flatMap(({ handle }) => (handle ? [[handle.id, handle] as const] : [])),
    );
    for (const [id, unsubscribe] of subscriptions) {
      if (unfinished.has(id)) continue;
      unsubscribe();
      subscriptions.delete(id);
    }
    for (const [id, handle] of unfinished)
      if (!subscriptions.has(id))
        subscriptions.set(
          id,
          entries.watch(handle, readSettings).subscribe(() => {}),
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

import type { SharedDevices } from "@sluice/core";
import { callAfter, requestOnce } from "@sluice/core/extend";
import {
  type DeviceCoordination,
  endAsStopped,
  isInFlight,
  QUEUED,
  reportFailure,
  type StoredThread,
  type WorkLocks,
} from "@sluice/stores/extend";
import { createStreamPath } from "../base.js";
import type { DeviceLocks } from "./device-lock.js";
import { createDeviceLocks } from "./device-locks.js";

/** Time in which another device ends an answer itself, in milliseconds. */
const HAND_OVER_MS = 3000;

/**
 * Creates the side of a thread that other devices see.
 *
 * @param collection the name by which the storage knows the thread
 * @param refresh reads what other devices have written
 */
export function createOtherDevices(
  collection: string,
  kept: StoredThread,
  devices: DeviceLocks & Pick<SharedDevices, "status">,
  tabs: WorkLocks,
  refresh: (id: string) => Promise<void>,
): DeviceCoordination {
  const { client, thread, queue, store } = kept;
  const status = devices.status(collection);
  /** Numbers of changes by other devices, by the message that they changed or answered. */
  const changes = new Map<string, number>();
  const locks = createDeviceLocks(collection, kept, devices, tabs, {
    refresh,
    stateOf: (id) =>
      id.startsWith(QUEUED) ? queue.entries.has(id.slice(QUEUED.length)) : (changes.get(id) ?? 0),
  });
  return {
    locks,
    merge(copies, merge) {
      const before = copies.map(({ message }) => marksOf(message.id));
      merge();
      for (const [index, { message, parent }] of copies.entries()) {
        if (marksOf(message.id) === before[index]) continue;
        const changed = before[index] !== undefined ? message.id : message.role === "assistant" && parent;
        if (changed) changes.set(changed, (changes.get(changed) ?? 0) + 1);
      }
    },
    stopElsewhere(id) {
      const message = thread.get(id)?.message;
      if (!message || !isInFlight(message)) return;
      thread.put(endAsStopped(message), true);
      if (message.streamId !== undefined) void stopKept(id, message.streamId);
    },
    sync: () => status.getSnapshot(),
    open: () => status.subscribe(() => store.flush()),
  };

  function marksOf(id: string): string | undefined {
    const node = thread.get(id);
    return node && `${node.revision} ${node.message.toolCalls?.map(({ state }) => state)}`;
  }

  /**
   * Ends an answer at the proxy. The page that reads it does so itself, and calls it stopped; here it is done after that,
   * or after a while: that page may be gone, or offline.
   */
  async function stopKept(id: string, streamId: string): Promise<void> {
    const tooLong = new AbortController();
    callAfter(client.clock, HAND_OVER_MS, tooLong.signal, () => tooLong.abort(null));
    await locks.withLock(id, tooLong.signal, async () => {}).catch(() => {});
    tooLong.abort(null);
    const path = createStreamPath(streamId);
    const init = { method: "DELETE", keepalive: true };
    try {
      if (path) await requestOnce(client, path, init, ({ body }) => body?.cancel());
    } catch (error) {
      reportFailure(kept, error);
    }
  }
}

import { after } from "../../../base/clock.js";
import type { SharedDevices, SyncStatus } from "../../../storage/devices.js";
import { requestOnce } from "../../../transport/request-once.js";
import { streamPath } from "../../protocol/request.js";
import { QUEUED } from "../message.js";
import type { PlacedMessage } from "../placement.js";
import { isInFlight, stoppedElsewhere } from "../records.js";
import { createDeviceLocks } from "./device-locks.js";
import { type KeptThread, report } from "./parts.js";
import type { WorkLocks } from "./work-locks.js";

// loaded where a server keeps the thread for several devices

/** Time in which another device ends an answer itself, in milliseconds. */
const HAND_OVER_MS = 3000;

/** The side of a thread that other devices see. */
export interface OtherDevices {
  readonly locks: WorkLocks;
  /** Merges copies, and notes what other devices have done. */
  readonly merging: (copies: readonly PlacedMessage[], merge: () => void) => void;
  /** Ends the work of another device on a message; that device ends its turn when it learns of it. */
  readonly stopElsewhere: (id: string) => void;
  readonly sync: () => SyncStatus;
  /** Shows changes of `sync`, until the returned function is called. */
  readonly open: () => () => void;
}

/**
 * Creates the side of a thread that other devices see.
 *
 * @param refresh reads what other devices have written
 */
export function createOtherDevices(
  kept: KeptThread,
  devices: SharedDevices,
  tabs: WorkLocks,
  refresh: (id: string) => Promise<void>,
): OtherDevices {
  const { client, collection, thread, queue, store } = kept;
  const status = devices.status(collection);
  /** Numbers of changes by other devices, by the message that they changed or answered. */
  const changes = new Map<string, number>();
  const locks = createDeviceLocks(kept, devices, tabs, {
    refresh,
    stateOf: (id) =>
      id.startsWith(QUEUED) ? queue.entries.has(id.slice(QUEUED.length)) : (changes.get(id) ?? 0),
  });
  return {
    locks,
    merging(copies, merge) {
      const before = copies.map(({ message }) => marksOf(message.id));
      merge();
      for (const [index, { message, parent }] of copies.entries()) {
        if (marksOf(message.id) === before[index]) continue;
        const changed = before[index] !== undefined ? message.id : message.role === "assistant" && parent;
        if (changed) changes.set(changed, (changes.get(changed) ?? 0) + 1);
      }
    },
    stopElsewhere(id) {
      const message = thread.node(id)?.message;
      if (!message || !isInFlight(message)) return;
      thread.put(stoppedElsewhere(message), true);
      if (message.streamId !== undefined) void stopKept(id, message.streamId);
    },
    sync: () => status.getSnapshot(),
    open: () => status.subscribe(() => store.flush()),
  };

  function marksOf(id: string): string | undefined {
    const node = thread.node(id);
    return node && `${node.revision} ${node.message.toolCalls?.map(({ state }) => state)}`;
  }

  /**
   * Ends an answer at the proxy. The page that reads it does so itself, and calls it stopped; here it is done after that,
   * or after a while: that page may be gone, or offline.
   */
  async function stopKept(id: string, streamId: string): Promise<void> {
    const tooLong = new AbortController();
    after(client.clock, HAND_OVER_MS, tooLong.signal, () => tooLong.abort(null));
    await locks.withLock(id, tooLong.signal, async () => {}).catch(() => {});
    tooLong.abort(null);
    const path = streamPath(streamId);
    const init = { method: "DELETE", keepalive: true };
    try {
      if (path) await requestOnce(client, path, init, ({ body }) => body?.cancel());
    } catch (error) {
      report(kept, error);
    }
  }
}

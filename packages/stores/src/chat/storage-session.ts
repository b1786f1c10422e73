import type { StorageStatus } from "@sluice/core";
import { rejectOnAbort, toError } from "@sluice/core/extend";
import { isEqual } from "../base/is-equal.js";
import { registerForget } from "../storage/in-use.js";
import { createUnsentTurn } from "./message.js";
import type { StorageSession } from "./session.js";
import {
  createStoredThread,
  deriveKey,
  noteChange,
  readStatus,
  type ThreadContext,
  writeAll,
} from "./stored-thread.js";
import { holdLock, restore, runLocked } from "./thread-records.js";

/** Creates the storage session of one chat. Nothing is read before its first use. */
export function createStorageSession(context: ThreadContext): StorageSession {
  const stored = createStoredThread(context);
  let isOpen = false;
  let isRestored = false;
  let reading: Promise<void> | undefined;
  let waiting = new AbortController();
  let unregister: (() => void) | undefined;
  let status: StorageStatus = { status: "restoring", pending: 0 };
  return {
    get isOpen() {
      return isOpen;
    },
    get isRestored() {
      return isRestored;
    },
    get status() {
      const next = isRestored ? readStatus(stored) : status;
      if (!isEqual(next, status)) status = next;
      return status;
    },
    hasServer: context.storage.status !== undefined,
    whenRestored,
    whenReady(act) {
      if (isRestored) return whenRestored(act);
      return rejectOnAbort(
        whenRestored(() => {}),
        waiting.signal,
      ).then(act, createUnsentTurn);
    },
    runLocked: (messageId, act) =>
      runLocked(stored, messageId, waiting.signal, async () => act()).catch((cause) =>
        createUnsentTurn(toError(cause)),
      ),
    holdLock: (messageId, turn) => holdLock(stored, messageId, turn),
    noteChange(messageId, message) {
      // the initial messages are stored once the storage was read
      if (reading) noteChange(stored, messageId, message);
    },
    writeAll: () => writeAll(stored),
    deriveKey: (below, request) => deriveKey(stored, below, request),
    forgetKey: (key) => void stored.sentKeys.delete(key),
    stop(reason) {
      waiting.abort(reason);
      waiting = new AbortController();
    },
    close() {
      isOpen = false;
      unregister?.();
      void writeAll(stored);
      stored.nextBroadcast?.abort();
      stored.open.abort();
    },
  };

  function whenRestored<T>(act: () => T | Promise<T>): Promise<T> {
    if (!isOpen) {
      isOpen = true;
      reading = read();
    }
    return isRestored || !reading ? Promise.resolve(act()) : reading.then(act);
  }

  async function read(): Promise<void> {
    unregister = registerForget(context.client, context.forget);
    await restore(stored);
    isRestored = true;
    context.flush();
  }
}

import type { StorageStatus } from "@sluice/core";
import { rejectOnAbort, toError } from "@sluice/core/extend";
import { isEqual } from "../base/is-equal.js";
import { reportStorageFailure } from "../base/platform-limits.js";
import { registerForget } from "../storage/in-use.js";
import { waitForStorage } from "../storage/wait.js";
import { createUnsentTurn } from "./message.js";
import type { StorageSession, ThreadRecords } from "./session.js";
import type { ThreadContext } from "./stored-thread.js";

/** The fields of a chat that its storage session needs. */
export interface SessionContext extends Omit<ThreadContext, "onFailure"> {
  /** Called by `signOut` while the storage is open. */
  readonly forget: () => unknown;
}

/** Creates the storage session of one chat. Nothing is read before its first use. */
export function createStorageSession(context: SessionContext): StorageSession {
  const { client } = context;
  let isOpen = false;
  let isRestored = false;
  let reading: Promise<void> | undefined;
  let records: ThreadRecords | undefined;
  let opened = new AbortController();
  let waiting = new AbortController();
  let unregister: (() => void) | undefined;
  /** The last failure of a read or a write. */
  let failure: Error | undefined;
  let status: StorageStatus = { status: "restoring", pending: 0 };
  return {
    hasServer: context.storage.status !== undefined,
    get status() {
      const next = readStatus();
      if (!isEqual(next, status)) status = next;
      return status;
    },
    get isOpen() {
      return isOpen;
    },
    get isRestored() {
      return isRestored;
    },
    get records() {
      return records;
    },
    whenRestored,
    whenReady(act) {
      if (isRestored) return whenRestored(act);
      return rejectOnAbort(
        whenRestored(() => {}),
        waiting.signal,
      ).then(act, createUnsentTurn);
    },
    runLocked(messageId, act) {
      if (!records) return Promise.resolve(act());
      return records
        .runLocked(messageId, waiting.signal, async () => act())
        .catch((cause) => createUnsentTurn(toError(cause)));
    },
    stop(reason) {
      waiting.abort(reason);
      waiting = new AbortController();
    },
    close,
  };

  function whenRestored<T>(act: () => T | Promise<T>): Promise<T> {
    if (!isOpen) {
      isOpen = true;
      reading = read();
    }
    return isRestored || !reading ? Promise.resolve(act()) : reading.then(act);
  }

  async function read(): Promise<void> {
    const { signal } = opened;
    unregister = registerForget(client, context.forget);
    try {
      await waitForStorage(client.clock, () => restore(signal));
    } catch (cause) {
      onFailure(cause);
      reportStorageFailure(client, cause);
    }
    isRestored = true;
    context.flush();
  }

  async function restore(signal: AbortSignal): Promise<void> {
    records ??= await load().catch((cause) => {
      // the code could not be loaded: the next call tries again
      close();
      throw cause;
    });
    if (!signal.aborted) await records.restore();
  }

  async function load(): Promise<ThreadRecords> {
    return (await import("./thread-records.js")).createThreadRecords({ ...context, onFailure });
  }

  function onFailure(error: unknown): void {
    failure = toError(error);
  }

  function readStatus(): StorageStatus {
    const { storage, thread } = context;
    if (!isRestored) return { status: "restoring", pending: 0 };
    const pending = records ? records.countUnsaved() : thread.listIds().length;
    const error = failure && { error: failure };
    if (pending > 0) return { status: "unsaved", pending, ...error };
    if (!records?.isRead) return { status: "error", pending, ...error };
    return storage.status?.getSnapshot() ?? { status: "saved", pending };
  }

  function close(): void {
    isOpen = false;
    opened.abort();
    opened = new AbortController();
    unregister?.();
    records?.close();
  }
}

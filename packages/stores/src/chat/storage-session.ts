import type { Client } from "@sluice/core";
import { rejectOnAbort, toError } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { registerForget } from "../storage/in-use.js";
import { waitForStorage } from "../storage/wait.js";
import type { ChatTurn } from "./message.js";
import type { ChatStorage } from "./storages.js";
import type { ThreadRecords } from "./thread-records.js";
import { createUnsentTurn } from "./turn-ends.js";

/**
 * Phase of the storage of a chat.
 *
 * - `none`: the chat has no storage
 * - `unread`: the chat was not used yet, or was closed during the first read
 * - `reading`: the storage is read for the first time, for at most 3 s. Methods wait for it
 * - `open`: the storage was read or given up; records that arrive later are merged
 * - `closed`: the next use reads it again
 */
type Phase = "none" | "unread" | "reading" | "open" | "closed";

/** Phases that follow an event. Unlisted phases do not change. */
type Transitions = Partial<Record<Phase, Phase>>;
const afterUse: Transitions = { unread: "reading", closed: "open" };
const afterRead: Transitions = { reading: "open", unread: "closed" };
const afterClose: Transitions = { reading: "unread", open: "closed" };

/** The storage of a chat. The first use opens it, and the first use after `close` opens it again. */
export interface StorageSession {
  readonly phase: Phase;
  /** Records of the thread; undefined before the storage is open, and without a storage. */
  readonly records: ThreadRecords | undefined;
  /** Runs `act` when the chat is restored; in the same tick if possible, so that the next frame shows a click. */
  whenRestored<T>(act: () => T | Promise<T>): Promise<T>;
  /** Runs `act` when the chat is restored, unless the chat is stopped before. */
  whenReady(act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Runs `act` when no other tab works on the message, unless the chat is stopped before. */
  runLocked(messageId: string, act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Rejects the waits for the storage or another tab. */
  stop(reason: unknown): void;
  close(): void;
}

/**
 * Creates the storage session of one chat. Nothing is read before its first use.
 *
 * @param load loads the code that reads and writes the thread
 * @param onRead called when the storage was read or given up
 * @param forget called by `signOut` while the storage is open
 */
export function createStorageSession(
  client: Client,
  storage: ChatStorage | undefined,
  load: (storage: ChatStorage) => Promise<ThreadRecords>,
  onRead: () => void,
  forget: () => unknown,
): StorageSession {
  let phase: Phase = storage ? "unread" : "none";
  let reading: Promise<void> | undefined;
  let records: ThreadRecords | undefined;
  let opened = new AbortController();
  let waiting = new AbortController();
  let unregister: (() => void) | undefined;
  return {
    get phase() {
      return phase;
    },
    get records() {
      return records;
    },
    whenRestored,
    whenReady(act) {
      if (!isRestoring(phase)) return whenRestored(act);
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
    const next = afterUse[phase];
    if (next && storage) {
      phase = next;
      reading = read(storage);
    }
    return phase === "reading" && reading ? reading.then(act) : Promise.resolve(act());
  }

  async function read(from: ChatStorage): Promise<void> {
    const { signal } = opened;
    unregister = registerForget(client, forget);
    try {
      await waitForStorage(client.clock, () => restore(from, signal));
    } catch (cause) {
      reportStorageFailure(client, cause);
    }
    phase = afterRead[phase] ?? phase;
    onRead();
  }

  async function restore(from: ChatStorage, signal: AbortSignal): Promise<void> {
    records ??= await load(from).catch((cause) => {
      // the code could not be loaded: the next call tries again
      close();
      throw cause;
    });
    if (!signal.aborted) await records.restore();
  }

  function close(): void {
    phase = afterClose[phase] ?? phase;
    opened.abort();
    opened = new AbortController();
    unregister?.();
    records?.close();
  }
}

/** Returns true until the thread was read or its storage given up. */
export function isRestoring(phase: Phase): boolean {
  return phase === "unread" || phase === "reading";
}

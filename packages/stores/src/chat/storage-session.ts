import type { Client, RecordStorage } from "@sluice/core";
import { rejectOnAbort, reportStorageFailure, toError } from "@sluice/core/internal";
import { onForget } from "../storage/in-use.js";
import { waitForStorage } from "../storage/wait.js";
import type { ChatTurn } from "./message.js";
import type { ThreadKeeper } from "./persistence/keeper.js";
import { notSent } from "./turn-ends.js";

/**
 * Phase of the storage of a chat.
 *
 * - `none`: the chat has no storage
 * - `unread`: nothing has used the chat yet, or it was closed while its storage was read
 * - `reading`: the storage is read for the first time, for at most 3 s. Verbs wait for it
 * - `open`: the storage was read or given up; records that are read later are merged
 * - `closed`: the next use reads it again
 */
type Phase = "none" | "unread" | "reading" | "open" | "closed";

/** Phases that follow an event. Each event leaves the other phases as they are. */
type Transitions = Partial<Record<Phase, Phase>>;
const onUse: Transitions = { unread: "reading", closed: "open" };
const onRead: Transitions = { reading: "open", unread: "closed" };
const onClose: Transitions = { reading: "unread", open: "closed" };

/** The storage of a chat, as its verbs see it: opened by the first use, and again after `close`. */
export interface StorageSession {
  readonly phase: Phase;
  /** Undefined before the storage is open, and without one. */
  readonly keeper: ThreadKeeper | undefined;
  /** Acts in the same tick if possible, so that the next frame shows the effect of a click. */
  whenRestored<T>(act: () => T | Promise<T>): Promise<T>;
  /** Acts when the chat is restored, unless it is stopped before. */
  whenReady(act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Acts when no other tab works on a message, unless the chat is stopped before. */
  withLockOf(messageId: string, act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Ends what waits for the storage or another tab. */
  stop(reason: unknown): void;
  close(): void;
}

/**
 * Creates the storage session of one chat. Nothing is read before its first use.
 *
 * @param load loads the code that keeps the thread
 * @param changed called when the storage was read, or given up
 * @param forget called by `client.forget()` while the storage is open
 */
export function createStorageSession(
  client: Client,
  storage: RecordStorage | undefined,
  load: (storage: RecordStorage) => Promise<ThreadKeeper>,
  changed: () => void,
  forget: () => unknown,
): StorageSession {
  let phase: Phase = storage ? "unread" : "none";
  let reading: Promise<void> | undefined;
  let keeper: ThreadKeeper | undefined;
  let opened = new AbortController();
  let waiting = new AbortController();
  let leave: (() => void) | undefined;
  return {
    get phase() {
      return phase;
    },
    get keeper() {
      return keeper;
    },
    whenRestored,
    whenReady(act) {
      if (!isRestoring(phase)) return whenRestored(act);
      return rejectOnAbort(
        whenRestored(() => {}),
        waiting.signal,
      ).then(act, notSent);
    },
    withLockOf(messageId, act) {
      if (!keeper) return Promise.resolve(act());
      return keeper
        .withLockOf(messageId, waiting.signal, async () => act())
        .catch((cause) => notSent(toError(cause)));
    },
    stop(reason) {
      waiting.abort(reason);
      waiting = new AbortController();
    },
    close,
  };

  function whenRestored<T>(act: () => T | Promise<T>): Promise<T> {
    const next = onUse[phase];
    if (next && storage) {
      phase = next;
      reading = read(storage);
    }
    return phase === "reading" && reading ? reading.then(act) : Promise.resolve(act());
  }

  async function read(from: RecordStorage): Promise<void> {
    const { signal } = opened;
    leave = onForget(client, forget);
    try {
      await waitForStorage(client.clock, () => restore(from, signal));
    } catch (cause) {
      reportStorageFailure(client, cause);
    }
    phase = onRead[phase] ?? phase;
    changed();
  }

  async function restore(from: RecordStorage, signal: AbortSignal): Promise<void> {
    keeper ??= await load(from).catch((cause) => {
      // its code could not be loaded: the next call tries again
      close();
      throw cause;
    });
    if (!signal.aborted) await keeper.restore();
  }

  function close(): void {
    phase = onClose[phase] ?? phase;
    opened.abort();
    opened = new AbortController();
    leave?.();
    keeper?.close();
  }
}

/** True until the thread was read, or its storage given up. */
export function isRestoring(phase: Phase): boolean {
  return phase === "unread" || phase === "reading";
}

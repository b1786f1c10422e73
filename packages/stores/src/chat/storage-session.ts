import type { StorageStatus } from "@sluice/core";
import { isRecord, rejectOnAbort, toError } from "@sluice/core/extend";
import { isEqual } from "../base/is-equal.js";
import { reportStorageFailure } from "../base/platform-limits.js";
import { addUserPrefix } from "../base/user-prefix.js";
import { yieldToHost } from "../base/yield-to-host.js";
import { registerForget } from "../storage/forget.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import { hasLocks, isLocked, prepareLocks, shareLock, withLock } from "../tabs/locks.js";
import { mergeCopies } from "./merge-copies.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isResumable } from "./message.js";
import { closeLostCalls, endInterrupted, isInFlight, isUnfinished, LEAF, parseNodes } from "./records.js";
import type { StorageSession } from "./session.js";
import {
  createStoredThread,
  deriveKey,
  drop,
  noteChange,
  readStatus,
  type StoredThread,
  type ThreadContext,
  writeAll,
  writeOnUnload,
} from "./stored-thread.js";
import type { MessageNode } from "./thread.js";

/*
 * The storage of one chat: reads its thread, and merges the changes of other tabs. The page that works on a message holds
 * its Web Lock. Each message has its own record, so that two tabs never overwrite each other's messages.
 */

type Records = ReadonlyMap<string, unknown>;

/** Creates the storage session of one chat. Nothing is read before its first use. */
export function createStorageSession(context: ThreadContext): StorageSession {
  const stored = createStoredThread(context);
  let isOpen = false;
  /** True once the thread was read or its storage given up, after at most 3 s. Records that arrive later are merged. */
  let isRestored = false;
  let reading: Promise<void> | undefined;
  let waiting = new AbortController();
  let unregister: (() => void) | undefined;
  let status: StorageStatus = { status: "restoring", pending: 0 };
  return {
    get isOpen() {
      return isOpen;
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
    runLocked: (messageId, act) => runLocked(stored, messageId, waiting.signal, act),
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

/**
 * Reads the thread, then merges the changes of other tabs, until `open` aborts. Waits at most 3 s for the storage, and
 * never rejects. A thread that could not be read is read later.
 */
function restore(stored: StoredThread): Promise<void> {
  const { client, storage, collection } = stored;
  stored.open = new AbortController();
  const { signal } = stored.open;
  // this tab must hold the lock of its first turn before another tab reads that the turn is in flight
  prepareLocks(client);
  const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
  // added before `subscribe`, so that a storage that sends its records at page unload runs after this listener
  listen?.("pagehide", () => writeOnUnload(stored), { signal });
  signal.addEventListener(
    "abort",
    storage.subscribe(collection, (changes) => merge(stored, changes)),
  );
  const read = () => noteRemovals(stored, (gone) => load(stored, signal, gone));
  const report = (error: unknown) => {
    stored.failure = toError(error);
    reportStorageFailure(client, error);
  };
  return readWhenPossible(client, read, () => {}, report, signal);
}

/** Reads the records of other tabs. The caller holds the lock of `id`, so that its record does not change. */
async function refresh(stored: StoredThread, id: string): Promise<void> {
  const { client, storage, collection, storedKeys } = stored;
  if (!stored.isRead || !hasLocks()) return;
  try {
    await noteRemovals(stored, async (gone) => {
      const found = await waitForStorage(client.clock, async () => storage.read(collection));
      const records = new Map([...found].filter(([key]) => !gone.has(key)));
      merge(stored, records);
      // the lock may arrive before the change event of the removal
      if (storedKeys.has(id) && !records.has(id)) drop(stored, id);
    });
  } catch (error) {
    reportStorageFailure(client, error);
  }
}

/** Runs a read. `gone` has the ids that other tabs remove meanwhile. */
async function noteRemovals(
  { removals }: StoredThread,
  run: (gone: ReadonlySet<string>) => Promise<void>,
): Promise<void> {
  const gone = new Set<string>();
  removals.add(gone);
  try {
    await run(gone);
  } finally {
    removals.delete(gone);
  }
}

/** Reads the thread. Tries twice, because a browser that closed its database opens it again. */
async function load(stored: StoredThread, signal: AbortSignal, gone: ReadonlySet<string>): Promise<void> {
  const { storage, collection, storedKeys, removed } = stored;
  const readAll = async () => storage.read(collection);
  const records = await readAll().catch(() => yieldToHost().then(readAll));
  const found = parseNodes(records);
  for (const { message } of found) storedKeys.add(message.id);
  const ended = await Promise.all(found.map((node) => endUnlessLocked(stored, node)));
  if (signal.aborted) return;
  const nodes = ended.filter(({ message: { id } }) => !removed.has(id) && !gone.has(id));
  showStored(stored, nodes, records.get(LEAF));
  watchEnds(stored, nodes);
  stored.onMerge();
}

/** Shows the stored messages. The first read replaces the initial messages, or stores them if nothing was stored. */
function showStored(stored: StoredThread, nodes: readonly MessageNode[], leaf: unknown): void {
  const { thread, initial, writer, isRead } = stored;
  const last = thread.path.at(-1)?.id;
  if (!isRead && nodes.length > 0) for (const id of initial) drop(stored, id);
  thread.merge(nodes, mergeCopies);
  if (typeof leaf === "string") thread.choose(leaf);
  // a new turn may have begun while the storage was slow
  thread.choose(last);
  thread.origin = undefined;
  void writeAll(stored);
  if (!isRead && nodes.length === 0) for (const id of initial) writer.mark(id);
  stored.isRead = true;
}

/** Merges changed records of other tabs. */
function merge(stored: StoredThread, changes: Records): void {
  const { thread, removed, removals, storedKeys } = stored;
  for (const [key, record] of changes) {
    if (record === undefined) handleRemoval(stored, key);
    else if (!isRecord(record) || record["isBroadcast"] !== true) {
      storedKeys.add(key);
      removeAgain(stored, key);
    }
    for (const gone of removals) gone[record === undefined ? "add" : "delete"](key);
  }
  // a response in flight is shown only if other tabs can notice that its tab was closed
  const nodes = parseNodes(changes).filter(
    (node) =>
      !removed.has(node.message.id) &&
      (!isInFlight(node.message) || ((hasLocks() || node.turn !== undefined) && !isOutdated(stored, node))),
  );
  thread.merge(nodes, mergeCopies);
  watchEnds(stored, nodes);
  stored.onMerge();
}

/**
 * Removes a message that another tab has removed. If this tab has written it, the last write may have come after the
 * removal, and the other tab may be closed. So this tab removes its record from the storage again.
 */
function handleRemoval(stored: StoredThread, id: string): void {
  if (stored.own.has(id) && !stored.initial.includes(id)) stored.thread.remove(id);
  else drop(stored, id);
}

/**
 * Removes a message again that this tab has removed, because a late write of a closed tab has restored it. Initial
 * messages stay, because they have the same ids in each new tab.
 */
function removeAgain(stored: StoredThread, key: string): void {
  const { removed, initial } = stored;
  if (removed.has(key) && !key.startsWith("/") && !initial.includes(key)) noteChange(stored, key);
}

/**
 * Returns true for an older copy of a response in flight, because broadcasts overtake writes. Also returns true for a
 * copy in flight of a response that is complete here: if the complete copy can't be stored, the tabs would otherwise
 * read the response again and again.
 */
function isOutdated({ thread }: StoredThread, { message, revision }: MessageNode): boolean {
  const known = thread.get(message.id);
  return isUnfinished(known?.message)
    ? (known as MessageNode).revision >= revision
    : isUnfinished(message) && known?.message.outcome === "complete";
}

/** Holds the lock of a message that this tab works on, until the turn has ended and is stored. */
function holdLock(stored: StoredThread, id: string, turn: Promise<unknown>): void {
  const { client, thread, writer, watched } = stored;
  watched.add(id);
  const done = turn
    .then(() => {
      // this tab may have written it after another tab removed it
      if (!thread.has(id)) writer.mark(id);
      return writeAll(stored);
    })
    .finally(() => watched.delete(id));
  void shareLock(client, createLockName(stored, id), done);
}

/** Runs `act` while no other tab works on the message, as documented at `runLocked` of `StorageSession`. */
function runLocked(
  stored: StoredThread,
  id: string,
  signal: AbortSignal,
  act: () => ChatTurn | Promise<ChatTurn>,
): Promise<ChatTurn> {
  return new Promise<ChatTurn>((resolve, reject) => {
    withLock(stored.client, createLockName(stored, id), signal, async () => {
      await refresh(stored, id);
      signal.throwIfAborted();
      endAbandoned(stored, id);
      const turn = (async () => act())();
      resolve(turn);
      await turn;
      await writeAll(stored);
    }).catch(reject);
  }).catch((cause) => createUnsentTurn(toError(cause)));
}

/** Ends a message in flight whose tab was closed. A message whose lock is held does not change. */
async function endUnlessLocked(stored: StoredThread, node: MessageNode): Promise<MessageNode> {
  const { message } = node;
  if (!isInFlight(message) || node.turn !== undefined) return node;
  const isOwned =
    canBeResumed(message) || (await isLocked(stored.client, createLockName(stored, message.id)));
  return isOwned ? node : { ...node, message: endInterrupted(message) };
}

/** Waits until other tabs have ended their work on these messages. Ends the work of closed tabs. */
function watchEnds(stored: StoredThread, nodes: readonly MessageNode[]): void {
  const { client, watched, onMerge, open } = stored;
  const { signal } = open;
  for (const { id } of nodes.map(({ message }) => message)) {
    // the record may be older than the message here, and may never be written again
    if (watched.has(id) || !isOpenHere(stored, id)) continue;
    watched.add(id);
    withLock(client, createLockName(stored, id), signal, () => endOrResume(stored, id, signal))
      .then(onMerge)
      .catch((error) => {
        if (!signal.aborted) reportStorageFailure(client, error);
      })
      .finally(() => watched.delete(id));
  }
}

/** Ends the work of a closed tab. Continues a response that the proxy stores, and calls that can be resumed. */
async function endOrResume(stored: StoredThread, id: string, signal: AbortSignal): Promise<void> {
  await refresh(stored, id);
  signal.throwIfAborted();
  const message = stored.thread.get(id)?.message;
  // the locks no longer work: the message is shown again when its tab has ended it
  if (message && isInFlight(message) && !hasLocks()) return drop(stored, id);
  const turn = message && canBeResumed(message) && resumeWork(message);
  if (turn) await turn;
  else endAbandoned(stored, id);
  // written before the lock is released, so that the next tab finds it ended
  await writeAll(stored);

  /** Continues the work of a closed tab. Ends calls that can't be resumed, so that they do not run twice. */
  function resumeWork(message: ChatMessage): Promise<unknown> | undefined {
    if (!isUnfinished(message)) stored.thread.put(closeLostCalls(message));
    return stored.resume(message);
  }
}

/** Ends the work of a closed tab. The caller holds the lock of the message. */
function endAbandoned(stored: StoredThread, id: string): void {
  const { thread } = stored;
  const message = thread.get(id)?.message;
  if (message && isOpenHere(stored, id) && hasLocks()) thread.put(endInterrupted(message));
}

function isOpenHere({ thread }: StoredThread, id: string): boolean {
  const node = thread.get(id);
  return node !== undefined && isInFlight(node.message) && node.turn === undefined;
}

/**
 * Returns true if another tab can resume the work: the proxy stores the response in flight, or a tool has saved its
 * state, and tabs can see each other's locks.
 */
function canBeResumed(message: ChatMessage): boolean {
  const { streamId, toolCalls } = message;
  return hasLocks() && (isUnfinished(message) ? streamId !== undefined : !!toolCalls?.some(isResumable));
}

function createLockName({ client, collection }: StoredThread, id: string): string {
  return addUserPrefix(client, `sluice/${collection}/${id}`);
}

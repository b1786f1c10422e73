import { after, yieldToHost } from "../../base/clock.js";
import { reportStorageFailure } from "../../base/platform-limits.js";
import { scoped } from "../../base/scope.js";
import type { Client } from "../../client.js";
import { storageOf } from "../../storage/client-storage.js";
import { createRecordWriter } from "../../storage/record-writer.js";
import { readLater } from "../../storage/recovery.js";
import type { RecordStorage } from "../../storage/storage.js";
import { waitForStorage } from "../../storage/wait.js";
import { hasLocks, isLocked, prepareLocks, shareLock, withLock } from "../../tabs/locks.js";
import { isRecord } from "../../transport/error-response.js";
import { joinCopies } from "./join.js";
import { QUEUED, type ThreadMessage } from "./message.js";
import type { Thread } from "./message-tree.js";
import type { ThreadNode } from "./placement.js";
import type { MessageQueue } from "./queue.js";
import { createQueueRecords } from "./queue-records.js";
import { afterReload, isInFlight, isUnderWay, LEAF, nodesIn, recordOf } from "./records.js";

/** Keeps a thread in a storage, and merges the writes of other tabs. */
export interface ThreadKeeper {
  /**
   * Reads the thread, then merges the changes of other tabs. Can be called again after `close`.
   *
   * @throws the storage's error, if it fails twice. A later write reads the thread as soon as it can be read
   */
  readonly restore: () => Promise<void>;
  /** Reports a changed message. It is written soon, and nothing waits for the write. */
  readonly changed: (id: string, message?: ThreadMessage) => void;
  /** Holds the lock of a message that this tab works on, until the turn has ended and is written. */
  readonly hold: (id: string, turn: Promise<unknown>) => void;
  /**
   * Waits until no other tab works on a message, merges what it wrote, and runs `act`. The lock is held until the turn
   * has ended and is written. Without Web Locks `act` runs at once.
   *
   * @throws the signal's reason while it waits
   */
  readonly withLockOf: <Turn>(id: string, signal: AbortSignal, act: () => Promise<Turn>) => Promise<Turn>;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  readonly written: () => Promise<unknown>;
  /** Number of messages that could not be written, and still are not. */
  readonly unsaved: () => number;
  /** Writes all pending changes, and closes the storage. What can't be written is tried again all the same. */
  readonly close: () => void;
}

/** Options of {@link createKeeper}. */
export interface ThreadKeeperOptions {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly collection: string;
  readonly thread: Thread;
  /** Ids of the messages that the chat began with. Stored messages replace them. */
  readonly initial: readonly string[];
  /** Messages that wait for their turn; their records are beside the messages. */
  readonly queue: MessageQueue;
  /** Called before the page may be closed: adds text that has come and is not shown yet. */
  readonly onLeave: () => void;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /** Called when the number of unsaved messages has changed. */
  readonly onUnsaved: () => void;
  /**
   * Continues to read an answer that a closed tab left and the proxy keeps; undefined where that is not possible now.
   */
  readonly resume: (message: ThreadMessage) => Promise<unknown> | undefined;
}

/** Time between two writes of an answer in flight, in milliseconds. */
const LIVE_WRITE_MS = 1000;
/** Time between two posts of an answer in flight to the other tabs, in milliseconds. */
const LIVE_POST_MS = 100;

/**
 * Creates the keeper of one thread. Each message has its own record, so that two tabs never overwrite each other's
 * messages.
 */
export function createKeeper(options: ThreadKeeperOptions): ThreadKeeper {
  const { client, collection, thread, onLeave, onMerge, onUnsaved, resume } = options;
  const storage = storageOf(client, options.storage);
  const { clock } = client;
  let initial = new Set(options.initial);
  /** Records of queued messages that have changed. A chat that is closed lets go of its queue, and not of the records. */
  const queued = new Map<string, unknown>();
  const queue = createQueueRecords(options.queue, changed);
  const writer = createRecordWriter({
    client,
    storage,
    collection,
    recordOf(id) {
      if (id === LEAF) return thread.path.at(-1)?.id;
      if (id.startsWith(QUEUED)) return queued.get(id);
      noteRemoval(id);
      const node = thread.node(id);
      return node && recordOf(node);
    },
    onFailure(error, keys) {
      const ids = keys.filter((key) => key !== LEAF);
      reportStorageFailure(client, error, ids.length === 1 ? ids[0] : undefined);
    },
    onWritten: readAgain,
    onUnsaved,
  });
  for (const id of thread.ids()) if (!initial.has(id)) writer.mark(id);
  /** Ids of messages that this tab has removed. A slow storage may still return them. */
  const removed = new Set<string>();
  /** Keys of records that were in the storage once. Those that other tabs only passed may never have been. */
  const stored = new Set<string>();
  /** Ids of messages that this tab works on, or waits for. */
  const watched = new Set<string>();
  /** Ids that other tabs have removed since a read began; undefined while nothing is read. */
  let removedMeanwhile: Set<string> | undefined;
  let isRead = false;
  let isWriteQueued = false;
  let open = new AbortController();
  let scheduled: AbortController | undefined;
  let posting: AbortController | undefined;

  return {
    restore() {
      open = new AbortController();
      const { signal } = open;
      // the lock of the first turn has to be held before another tab reads that the turn is in flight
      prepareLocks(client);
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", leave, { signal });
      signal.addEventListener("abort", storage.watch(collection, merge));
      const reading = read(signal);
      reading.catch(() => void readLater(client, () => (isRead ? Promise.resolve() : read(signal)), signal));
      return reading;
    },
    changed,
    hold(id, turn) {
      watched.add(id);
      const done = turn.then(settled).finally(() => watched.delete(id));
      void shareLock(client, lockOf(id), done);

      function settled(): Promise<void> {
        // a write of it may have come after its removal by another tab
        if (!thread.node(id) && !id.startsWith(QUEUED)) writer.mark(id);
        return written();
      }
    },
    withLockOf: (id, signal, act) =>
      new Promise((resolve, reject) => {
        withLock(client, lockOf(id), signal, async () => {
          await refresh(id);
          signal.throwIfAborted();
          endLeft(id);
          const turn = act();
          resolve(turn);
          await turn;
          await written();
        }).catch(reject);
      }),
    written,
    unsaved: () => writer.unsaved.size - Number(writer.unsaved.has(LEAF)),
    close() {
      write();
      posting?.abort();
      open.abort();
    },
  };

  function changed(id: string, message?: ThreadMessage): void {
    // now: a write that has begun takes what is marked meanwhile
    if (id.startsWith(QUEUED)) {
      if (!queue.isReady(id)) return;
      queued.set(id, queue.recordOf(id));
    }
    writer.mark(id);
    if (!isUnderWay(message)) return writeSoon();
    scheduled ??= later(LIVE_WRITE_MS, write);
    posting ??= later(LIVE_POST_MS, () => post(id));
  }

  function later(ms: number, act: () => void): AbortController {
    const timer = new AbortController();
    after(clock, ms, timer.signal, act);
    return timer;
  }

  /** Shows the growth of an answer in the other tabs, between two writes. */
  function post(id: string): void {
    posting = undefined;
    const node = thread.node(id);
    if (!node || !isUnderWay(node.message)) return;
    try {
      storage.pass?.(collection, new Map([[id, { ...recordOf(node), isPassed: true }]]));
    } catch (error) {
      report(error);
    }
  }

  function read(signal: AbortSignal): Promise<void> {
    removedMeanwhile = new Set();
    return load(signal).finally(() => {
      if (!signal.aborted) removedMeanwhile = undefined;
    });
  }

  /** Tries again once: a browser that closed its database opens it again. */
  async function load(signal: AbortSignal): Promise<void> {
    const records = await readAll().catch(() => yieldToHost().then(readAll));
    const found = nodesIn(records);
    for (const { message } of found) stored.add(message.id);
    const held = await Promise.all(
      found.map(
        ({ message }) => isInFlight(message) && (isKept(message) || isLocked(client, lockOf(message.id))),
      ),
    );
    if (signal.aborted) return;
    const nodes = found
      .map((node, at) => (held[at] ? node : { ...node, message: afterReload(node.message) }))
      .filter(isThere);
    const last = thread.path.at(-1)?.id;
    if (!isRead && nodes.length > 0) for (const id of initial) drop(id);
    thread.merge(nodes, joinCopies);
    const leaf = records.get(LEAF);
    if (typeof leaf === "string") thread.choose(leaf);
    // the storage may have been late, and a new turn may have begun
    thread.choose(last);
    thread.origin = undefined;
    write();
    if (!isRead && nodes.length === 0) for (const id of initial) writer.mark(id);
    isRead = true;
    initial = new Set();
    watchEnds(nodes);
    mergeQueue(records);
    onMerge();
  }

  /** False for a message that was removed after its record was read: here, or in another tab during the read. */
  function isThere({ message: { id } }: ThreadNode): boolean {
    return !removed.has(id) && !removedMeanwhile?.has(id);
  }

  async function readAll(): Promise<ReadonlyMap<string, unknown>> {
    return storage.read(collection);
  }

  function leave(): void {
    onLeave();
    prepareWrite();
    writer.leave();
  }

  function merge(changes: ReadonlyMap<string, unknown>): void {
    for (const [key, record] of changes) {
      if (record === undefined) drop(key);
      else if (!isRecord(record) || !record["isPassed"]) {
        stored.add(key);
        removeAgain(key);
      }
      removedMeanwhile?.[record === undefined ? "add" : "delete"](key);
    }
    // an answer in flight is shown only where other tabs can notice that its tab was closed
    const nodes = nodesIn(changes).filter(
      (node) => isThere(node) && (!isInFlight(node.message) || (hasLocks() && !isOutrun(node))),
    );
    thread.merge(nodes, joinCopies);
    watchEnds(nodes);
    mergeQueue(changes);
    onMerge();
    readAgain();
  }

  /**
   * Removes a message that this tab has removed, and that came after that: the last write of a closed tab. The messages
   * that a chat begins with have the same ids in a new tab, and stay.
   */
  function removeAgain(key: string): void {
    if (removed.has(key) && !key.startsWith("/") && !options.initial.includes(key)) changed(key);
  }

  /**
   * True for a copy of an answer in flight that is older, because posts overtake writes; and for one of an answer that is
   * complete here. It was stored when the complete one could not be: the tabs would read it to its end in turn, for ever.
   */
  function isOutrun({ message, revision }: ThreadNode): boolean {
    const known = thread.node(message.id);
    return isUnderWay(known?.message)
      ? (known as ThreadNode).revision >= revision
      : isUnderWay(message) && known?.message.outcome === "complete";
  }

  /** Reads the thread after a write: a storage that takes a record can perhaps be read by now. */
  function readAgain(): void {
    if (!isRead && !removedMeanwhile) void read(open.signal).catch(() => {});
  }

  /** Merges queued messages. A message whose tab was closed, or is closed later, is sent by one of the others. */
  function mergeQueue(records: ReadonlyMap<string, unknown>): void {
    for (const id of queue.merge(records)) {
      const { signal } = open;
      withLock(client, lockOf(QUEUED + id), signal, async () => {
        await refresh();
        if (!hasLocks()) return queue.hold(id);
        await queue.takeOver(id);
        await written();
      }).catch((error) => {
        if (!signal.aborted) report(error);
      });
    }
  }

  /** Waits until the other tabs have ended their work. */
  function watchEnds(nodes: readonly ThreadNode[]): void {
    for (const { id } of nodes.map(({ message }) => message)) {
      // a record may be older than the message here, and never be written again
      const message = thread.node(id)?.message;
      if (!message || watched.has(id) || !isInFlight(message)) continue;
      watched.add(id);
      const { signal } = open;
      withLock(client, lockOf(id), signal, () => closeOrResume(id, signal))
        .then(onMerge)
        .catch((error) => {
          if (!signal.aborted) report(error);
        })
        .finally(() => watched.delete(id));
    }
  }

  /** Ends the work of a closed tab. This tab continues an answer that the proxy keeps. */
  async function closeOrResume(id: string, signal: AbortSignal): Promise<void> {
    await refresh(id);
    signal.throwIfAborted();
    const message = thread.node(id)?.message;
    // the locks were found broken meanwhile: the message is shown again when its tab has ended it
    if (message && isInFlight(message) && !hasLocks()) return drop(id);
    const turn = message && isKept(message) && resume(message);
    if (turn) await turn;
    else endLeft(id);
    // written now, so that the next tab finds it ended
    await written();
  }

  /** Runs while the lock of the message is held: the tab that worked on it has left. */
  function endLeft(id: string): void {
    const message = thread.node(id)?.message;
    if (message && isInFlight(message) && hasLocks()) thread.put(afterReload(message));
  }

  /** Reads what other tabs have written. The lock of `id` is held, so that nothing is on its way to its record. */
  async function refresh(id?: string): Promise<void> {
    try {
      if (!isRead || !hasLocks()) return;
      const records = await waitForStorage(clock, readAll);
      queue.forgetUnless(records);
      merge(records);
      // the lock may come before the notice of the removal
      if (id !== undefined && stored.has(id) && !records.has(id)) drop(id);
    } catch (error) {
      report(error);
    }
  }

  /** Removes a message that is not in the storage. Nothing is written. */
  function drop(id: string): void {
    thread.remove(id);
    writer.unmark(id);
  }

  function lockOf(id: string): string {
    return scoped(client, `sluice/${collection}/${id}`);
  }

  function written(): Promise<void> {
    prepareWrite();
    return writer.write();
  }

  function write(): void {
    void written();
  }

  /** Writes what changes in this task at once. */
  function writeSoon(): void {
    if (isWriteQueued) return;
    isWriteQueued = true;
    queueMicrotask(() => {
      isWriteQueued = false;
      write();
    });
  }

  function prepareWrite(): void {
    scheduled?.abort();
    scheduled = undefined;
    if (writer.due.size === 0) return;
    for (const id of writer.due) noteRemoval(id);
    writer.mark(LEAF);
  }

  function noteRemoval(id: string): void {
    removed[thread.node(id) ? "delete" : "add"](id);
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}

/**
 * True for an answer in flight whose tab may be closed: the proxy keeps the answer, and tabs can see each other's
 * locks.
 */
function isKept(message: ThreadMessage): boolean {
  return hasLocks() && isUnderWay(message) && message.streamId !== undefined;
}

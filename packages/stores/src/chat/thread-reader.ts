import { isRecord } from "@sluice/core/extend";
import { yieldToHost } from "../base/yield-to-host.js";
import { readLater } from "../storage/recovery.js";
import { waitForStorage } from "../storage/wait.js";
import { prepareLocks } from "../tabs/locks.js";
import { mergeCopies } from "./merge-copies.js";
import { isInFlight, isUnfinished, LEAF, parseNodes } from "./records.js";
import { reportFailure, type StoredThread } from "./stored-thread.js";
import type { TabCoordination } from "./tab-coordination.js";
import type { ThreadWriter } from "./thread-writer.js";
import { isOfRunner, type MessageNode } from "./tree.js";
import type { WorkLocks } from "./work-locks.js";

type Records = ReadonlyMap<string, unknown>;

/** Reads the messages of one thread. */
export interface ThreadReader {
  /** Reads the thread, then merges the changes of other tabs, until `close`. */
  readonly restore: () => Promise<void>;
  /** Reads the thread if an earlier read failed. */
  readonly readAgain: () => void;
  /** Reads the records of other tabs. The caller holds the lock of `id`, so that its record does not change. */
  readonly refresh: (id?: string) => Promise<void>;
  readonly close: () => void;
}

/** Creates the reader of a thread. */
export function createThreadReader(
  stored: StoredThread,
  writer: ThreadWriter,
  tabs: TabCoordination,
  { areVisible }: Pick<WorkLocks, "areVisible">,
): ThreadReader {
  const { client, storage, collection, thread, initial, onMerge } = stored;
  const { queue, removed, drop } = writer;
  /** Keys of records that the storage had at some time. Records that other tabs only broadcast may be missing in it. */
  const storedKeys = new Set<string>();
  /** Ids that other tabs have removed since a read began; undefined while no read is in flight. */
  let removedMeanwhile: Set<string> | undefined;
  /** The same set for each `refresh` in flight. */
  const refreshes = new Set<Set<string>>();
  /** Until the thread is read, each successful write tries to read it again. */
  let isRead = false;
  let open = new AbortController();
  return {
    restore() {
      open = new AbortController();
      const { signal } = open;
      // this tab must hold the lock of its first turn before another tab reads that the turn is in flight
      prepareLocks(client);
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      // added before `watch`, so that a storage that sends its records at page unload runs after this listener
      listen?.("pagehide", writer.writeOnUnload, { signal });
      signal.addEventListener("abort", storage.watch(collection, merge));
      const reading = read(signal);
      reading.catch(() => void readLater(client, () => (isRead ? Promise.resolve() : read(signal)), signal));
      return reading;
    },
    readAgain,
    async refresh(id) {
      try {
        if (!isRead || !areVisible()) return;
        const records = await readRemaining();
        queue.dropMissing(records);
        merge(records);
        // the lock may arrive before the change event of the removal
        if (id !== undefined && storedKeys.has(id) && !records.has(id)) drop(id);
      } catch (error) {
        reportFailure(stored, error);
      }
    },
    close: () => open.abort(),
  };

  /** Reads the thread after a successful write, because the storage may be readable by now. */
  function readAgain(): void {
    if (!isRead && !removedMeanwhile) void read(open.signal).catch(() => {});
  }

  function read(signal: AbortSignal): Promise<void> {
    removedMeanwhile = new Set();
    return load(signal).finally(() => {
      if (!signal.aborted) removedMeanwhile = undefined;
    });
  }

  /** Reads the thread. Tries twice, because a browser that closed its database opens it again. */
  async function load(signal: AbortSignal): Promise<void> {
    const records = await readAll().catch(() => yieldToHost().then(readAll));
    const found = parseNodes(records);
    for (const { message } of found) storedKeys.add(message.id);
    const ended = await Promise.all(found.map(tabs.endUnlessLocked));
    if (signal.aborted) return;
    const nodes = ended.filter(isPresent);
    showStored(nodes, records.get(LEAF));
    handleMerge(nodes, records);
  }

  /** Reads the records, without records that other tabs remove during the read. */
  async function readRemaining(): Promise<Records> {
    const gone = new Set<string>();
    refreshes.add(gone);
    try {
      const records = await waitForStorage(client.clock, readAll);
      return new Map([...records].filter(([key]) => !gone.has(key)));
    } finally {
      refreshes.delete(gone);
    }
  }

  async function readAll(): Promise<Records> {
    return storage.read(collection);
  }

  /** Shows the stored messages. The first read replaces the initial messages, or stores them if nothing was stored. */
  function showStored(nodes: readonly MessageNode[], leaf: unknown): void {
    const last = thread.path.at(-1)?.id;
    if (!isRead && nodes.length > 0) for (const id of initial) drop(id);
    thread.merge(nodes, mergeCopies);
    if (typeof leaf === "string") thread.choose(leaf);
    // a new turn may have begun while the storage was slow
    thread.choose(last);
    thread.origin = undefined;
    void writer.writeAll();
    if (!isRead && nodes.length === 0) for (const id of initial) writer.mark(id);
    isRead = true;
  }

  function merge(changes: Records): void {
    for (const [key, record] of changes) {
      if (record === undefined) handleRemoval(key);
      else {
        const isPassed = isRecord(record) && record["isPassed"] === true;
        if (!isPassed) {
          storedKeys.add(key);
          removeAgain(key);
        }
      }
      for (const gone of [removedMeanwhile, ...refreshes])
        gone?.[record === undefined ? "add" : "delete"](key);
    }
    // a response in flight is shown only if other tabs can notice that its tab was closed
    const nodes = parseNodes(changes).filter(
      (node) =>
        isPresent(node) &&
        (!isInFlight(node.message) || ((areVisible() || isOfRunner(node)) && !isOutdated(node))),
    );
    thread.merge(nodes, mergeCopies);
    handleMerge(nodes, changes);
    readAgain();
  }

  function handleMerge(nodes: readonly MessageNode[], records: Records): void {
    // the record of a sent message is removed with the same write
    stored.queue.prune();
    tabs.watchEnds(nodes, open.signal);
    tabs.watchQueued(queue.merge(records), open.signal);
    onMerge();
  }

  /** Returns false for a message that was removed here, or in another tab during the read. */
  function isPresent({ message: { id } }: MessageNode): boolean {
    return !removed.has(id) && !removedMeanwhile?.has(id);
  }

  /**
   * Removes a message that another tab has removed. If this tab has written it, the last write may have come after the
   * removal, and the other tab may be closed. So this tab removes its record from the storage again.
   */
  function handleRemoval(id: string): void {
    if (writer.own.has(id) && !initial.includes(id)) thread.remove(id);
    else drop(id);
  }

  /**
   * Removes a message again that this tab has removed, because a late write of a closed tab has restored it. Initial
   * messages stay, because they have the same ids in each new tab.
   */
  function removeAgain(key: string): void {
    if (removed.has(key) && !key.startsWith("/") && !initial.includes(key)) writer.noteChange(key);
  }

  /**
   * Returns true for an older copy of a response in flight, because broadcasts overtake writes. Also returns true for a
   * copy in flight of a response that is complete here: if the complete copy can't be stored, the tabs would otherwise
   * read the response again and again.
   */
  function isOutdated({ message, revision }: MessageNode): boolean {
    const known = thread.get(message.id);
    return isUnfinished(known?.message)
      ? (known as MessageNode).revision >= revision
      : isUnfinished(message) && known?.message.outcome === "complete";
  }
}

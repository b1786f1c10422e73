import { isRecord, yieldToHost } from "@sluice/core/internal";
import { readLater } from "../../storage/recovery.js";
import { waitForStorage } from "../../storage/wait.js";
import { prepareLocks } from "../../tabs/locks.js";
import { joinCopies } from "../join.js";
import { isInFlight, isUnderWay, LEAF, nodesIn } from "../records.js";
import { isServers, type PlacedMessage } from "../tree.js";
import type { OtherDevices } from "./other-devices.js";
import type { OtherTabs } from "./other-tabs.js";
import { type KeptThread, report } from "./parts.js";
import type { WorkLocks } from "./work-locks.js";
import type { ThreadWriter } from "./writing.js";

type Records = ReadonlyMap<string, unknown>;

/** Reads the messages of one thread. */
export interface ThreadReader {
  /** Reads the thread, then merges the changes of other tabs, until `close`. */
  readonly restore: () => Promise<void>;
  /** Reads the thread if it could not be read before. */
  readonly readAgain: () => void;
  /** Reads what other tabs have written. The lock of `id` is held, so that nothing is on its way to its record. */
  readonly refresh: (id?: string) => Promise<void>;
  readonly close: () => void;
}

/** Creates the reader of a thread. */
export function createThreadReader(
  kept: KeptThread,
  writer: ThreadWriter,
  tabs: OtherTabs,
  { areSeen, merging }: Pick<WorkLocks, "areSeen"> & Partial<Pick<OtherDevices, "merging">>,
): ThreadReader {
  const { client, storage, collection, thread, initial, onMerge } = kept;
  const { queue, removed, drop } = writer;
  /** Keys of records that were in the storage once. Those that other tabs only passed may never have been. */
  const stored = new Set<string>();
  /** Ids that other tabs have removed since a read began; undefined while nothing is read. */
  let removedMeanwhile: Set<string> | undefined;
  /** The same for each `refresh` that is under way. */
  const refreshes = new Set<Set<string>>();
  /** Until the thread was read, each write that succeeds reads it again. */
  let isRead = false;
  let open = new AbortController();
  return {
    restore() {
      open = new AbortController();
      const { signal } = open;
      // the lock of the first turn has to be held before another tab reads that the turn is in flight
      prepareLocks(client);
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      // before the watch: a storage that sends what it has at the end of the page listens behind this
      listen?.("pagehide", writer.leave, { signal });
      signal.addEventListener("abort", storage.watch(collection, merge));
      const reading = read(signal);
      reading.catch(() => void readLater(client, () => (isRead ? Promise.resolve() : read(signal)), signal));
      return reading;
    },
    readAgain,
    async refresh(id) {
      try {
        if (!isRead || !areSeen()) return;
        const records = await readWhatStays();
        queue.forgetUnless(records);
        merge(records);
        // the lock may come before the notice of the removal
        if (id !== undefined && stored.has(id) && !records.has(id)) drop(id);
      } catch (error) {
        report(kept, error);
      }
    },
    close: () => open.abort(),
  };

  /** Reads the thread after a write: a storage that takes a record can perhaps be read by now. */
  function readAgain(): void {
    if (!isRead && !removedMeanwhile) void read(open.signal).catch(() => {});
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
    const found = nodesIn(records, kept.device);
    for (const { message } of found) stored.add(message.id);
    const settled = await Promise.all(found.map(tabs.settleUnlessHeld));
    if (signal.aborted) return;
    const nodes = settled.filter(isThere);
    showStored(nodes, records.get(LEAF));
    merged(nodes, records);
  }

  /** Reads the records, without those that other tabs have removed meanwhile: the storage may have read them before. */
  async function readWhatStays(): Promise<Records> {
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

  /** Shows what is stored. A first read replaces the initial messages, or stores them where nothing was stored. */
  function showStored(nodes: readonly PlacedMessage[], leaf: unknown): void {
    const last = thread.path.at(-1)?.id;
    if (!isRead && nodes.length > 0) for (const id of initial) drop(id);
    thread.merge(nodes, join);
    if (typeof leaf === "string") thread.choose(leaf);
    // the storage may have been late, and a new turn may have begun
    thread.choose(last);
    thread.origin = undefined;
    void writer.written();
    if (!isRead && nodes.length === 0) for (const id of initial) writer.mark(id);
    isRead = true;
  }

  function join(local: PlacedMessage, copy: PlacedMessage): ReturnType<typeof joinCopies> {
    return joinCopies(local, copy, kept.device);
  }

  function merge(changes: Records): void {
    for (const [key, record] of changes) {
      if (record === undefined) removedElsewhere(key);
      else {
        const isPassed = isRecord(record) && record["isPassed"] === true;
        // a lock of devices is free only when the records of its holder can be read: what is passed is stored by then
        if (!isPassed || kept.device !== undefined) stored.add(key);
        if (!isPassed) removeAgain(key);
      }
      for (const gone of [removedMeanwhile, ...refreshes])
        gone?.[record === undefined ? "add" : "delete"](key);
    }
    // an answer in flight is shown only where other tabs can notice that its tab was closed
    const nodes = nodesIn(changes, kept.device).filter(
      (node) =>
        isThere(node) && (!isInFlight(node.message) || ((areSeen() || isServers(node)) && !isOutrun(node))),
    );
    const mergeAll = () => thread.merge(nodes, join);
    if (merging) merging(nodes, mergeAll);
    else mergeAll();
    merged(nodes, changes);
    readAgain();
  }

  function merged(nodes: readonly PlacedMessage[], records: Records): void {
    // the record of a message that was sent is removed with the same write
    kept.queue.prune();
    tabs.watchEnds(nodes, open.signal);
    tabs.watchQueued(queue.merge(records), open.signal);
    onMerge();
  }

  /** False for a message that was removed after its record was read: here, or in another tab during the read. */
  function isThere({ message: { id } }: PlacedMessage): boolean {
    return !removed.has(id) && !removedMeanwhile?.has(id);
  }

  /**
   * Removes a message that another tab has removed. The last write of this tab may have come after that, and the other
   * tab may be closed: what this tab has written, it removes from the storage once more.
   */
  function removedElsewhere(id: string): void {
    if (writer.own.has(id) && !initial.includes(id)) thread.remove(id);
    else drop(id);
  }

  /**
   * Removes a message once more that this tab has removed: the last write of a closed tab has brought it back. The
   * messages that a chat begins with stay, because they have the same ids in each new tab.
   */
  function removeAgain(key: string): void {
    if (removed.has(key) && !key.startsWith("/") && !initial.includes(key)) writer.changed(key);
  }

  /**
   * True for an older copy of an answer in flight, because posts overtake writes. True also for a copy in flight of an
   * answer that is complete here. It was stored when the complete one could not be: the tabs would read it to its end
   * in turn, for ever.
   */
  function isOutrun({ message, revision }: PlacedMessage): boolean {
    const known = thread.node(message.id);
    return isUnderWay(known?.message)
      ? (known as PlacedMessage).revision >= revision
      : isUnderWay(message) && known?.message.outcome === "complete";
  }
}

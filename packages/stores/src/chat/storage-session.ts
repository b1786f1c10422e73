import type { StorageStatus } from "@sluice/core";
import { createRandomId, hashToId, isRecord, rejectOnAbort } from "@sluice/core/extend";
import { isEqual } from "../base/is-equal.js";
import { reportStorageFailure } from "../base/platform-limits.js";
import { yieldToHost } from "../base/yield-to-host.js";
import { registerForget } from "../storage/forget.js";
import { readWhenPossible, waitForStorage } from "../storage/wait.js";
import { hasLocks, prepareLocks } from "../tabs/locks.js";
import { mergeCopies } from "./merge-copies.js";
import { createUnsentTurn } from "./message.js";
import { createMessageLocks } from "./message-locks.js";
import { isInFlight, isUnfinished, LEAF, parseNodes } from "./records.js";
import type { StorageSession, ThreadContext } from "./session.js";
import type { MessageNode } from "./thread.js";
import { createThreadWriter } from "./thread-writer.js";

/**
 * Creates the storage session of one chat: it reads the thread, and merges the changes of other tabs. Nothing is read
 * before its first use. Each message has its own record, so that two tabs never overwrite each other's messages.
 */
export function createStorageSession(context: ThreadContext): StorageSession {
  const { client, collection, thread, initialIds, onMerge } = context;
  const writer = createThreadWriter(context);
  const { storage, removed, noteChange, drop, writeAll } = writer;
  const locks = createMessageLocks({ ...context, writer, refresh });
  /** Keys of records that the storage had at some time. A record that another tab only broadcast may never be stored. */
  const storedKeys = new Set<string>();
  let isOpen = false;
  /** Aborts at `close`. */
  let closing = new AbortController();
  /** True once the thread was read, or after 3 s without it. Records that arrive later are merged. */
  let isRestored = false;
  /** True once the thread was read. */
  let isRead = false;
  let reading: Promise<void> | undefined;
  /** Aborts the waits for the storage or another tab at `stop`. */
  let waiting = new AbortController();
  let unregister: (() => void) | undefined;
  let status: StorageStatus = { status: "restoring", pending: 0 };
  return {
    get isOpen() {
      return isOpen;
    },
    get status() {
      const next = isRestored ? writer.readStatus(isRead) : status;
      if (!isEqual(next, status)) status = next;
      return status;
    },
    hasServer: storage.status !== undefined,
    whenRestored,
    whenReady(act) {
      if (isRestored) return whenRestored(act);
      return rejectOnAbort(
        whenRestored(() => {}),
        waiting.signal,
      ).then(act, createUnsentTurn);
    },
    runLocked: (messageId, act) => locks.run(messageId, waiting.signal, act),
    holdLock: locks.hold,
    noteChange(messageId, message) {
      // the initial messages are stored once the storage was read
      if (reading) noteChange(messageId, message);
    },
    writeAll,
    ...createRequestKeys(context),
    stop(reason) {
      waiting.abort(reason);
      waiting = new AbortController();
    },
    close() {
      isOpen = false;
      unregister?.();
      writer.close();
      closing.abort();
    },
  };

  function whenRestored<T>(act: () => T | Promise<T>): Promise<T> {
    if (!isOpen) {
      isOpen = true;
      unregister = registerForget(client, context.forget);
      reading = restore().then(() => {
        isRestored = true;
        context.flush();
      });
    }
    return isRestored || !reading ? Promise.resolve(act()) : reading.then(act);
  }

  /**
   * Reads the thread, then merges the changes of other tabs, until `closing` aborts. Waits at most 3 s for the storage, and
   * never rejects. A thread that could not be read is read later.
   */
  function restore(): Promise<void> {
    closing = new AbortController();
    const { signal } = closing;
    // this tab must hold the lock of its first turn before another tab reads that the turn is in flight
    prepareLocks(client);
    const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
    // added before `subscribe`, so that a storage that sends its records at page unload runs after this listener
    listen?.("pagehide", () => writer.writeOnUnload(), { signal });
    // other tabs may have added these messages again while the storage was closed
    for (const [id, remover] of removed) if (remover === "elsewhere") removed.delete(id);
    signal.addEventListener("abort", storage.subscribe(collection, merge));
    return readWhenPossible(
      client,
      () => load(signal),
      () => {},
      writer.noteFailure,
      signal,
    );
  }

  /** Reads the records of other tabs. The caller holds the lock of `id`, so that its record does not change. */
  async function refresh(id: string): Promise<void> {
    if (!isRead || !hasLocks()) return;
    try {
      const found = await waitForStorage(client.clock, async () => storage.read(collection));
      const records = new Map([...found].filter(([key]) => removed.get(key) !== "elsewhere"));
      merge(records);
      // the lock may arrive before the change event of the removal
      if (storedKeys.has(id) && !records.has(id)) drop(id);
    } catch (error) {
      reportStorageFailure(client, error);
    }
  }

  /** Reads the thread. Tries twice, because a browser that closed its database opens it again. */
  async function load(signal: AbortSignal): Promise<void> {
    const readAll = async () => storage.read(collection);
    const records = await readAll().catch(() => yieldToHost().then(readAll));
    const found = parseNodes(records);
    for (const { message } of found) storedKeys.add(message.id);
    const ended = await Promise.all(found.map(locks.endUnlessHeld));
    if (signal.aborted) return;
    const nodes = ended.filter(({ message }) => !removed.has(message.id));
    showStored(nodes, records.get(LEAF));
    locks.watchEnds(nodes, signal);
    onMerge();
  }

  /** Shows the stored messages. The first read replaces the initial messages, or stores them if nothing was stored. */
  function showStored(nodes: readonly MessageNode[], leaf: unknown): void {
    const last = thread.path.at(-1)?.id;
    if (!isRead && nodes.length > 0) for (const id of initialIds) drop(id);
    thread.merge(nodes, mergeCopies);
    if (typeof leaf === "string") thread.choose(leaf);
    // a new turn may have begun while the storage was slow
    thread.choose(last);
    thread.defaultParent = undefined;
    void writeAll();
    if (!isRead && nodes.length === 0) for (const id of initialIds) writer.mark(id);
    isRead = true;
  }

  /** Merges changed records of other tabs. */
  function merge(changes: ReadonlyMap<string, unknown>): void {
    for (const [key, record] of changes) {
      if (record === undefined) handleRemoval(key);
      else if (removed.get(key) === "elsewhere") removed.delete(key);
      if (record === undefined || (isRecord(record) && record["isBroadcast"] === true)) continue;
      storedKeys.add(key);
      removeAgain(key);
    }
    // a response in flight is shown only if other tabs can notice that its tab was closed
    const nodes = parseNodes(changes).filter(
      (node) =>
        !removed.has(node.message.id) &&
        (!isInFlight(node.message) || ((hasLocks() || node.turn !== undefined) && !isOutdated(node))),
    );
    thread.merge(nodes, mergeCopies);
    locks.watchEnds(nodes, closing.signal);
    onMerge();
  }

  /**
   * Removes a message that another tab has removed. If this tab has written it, the last write may have come after the
   * removal, and the other tab may be closed. So this tab removes its record from the storage again.
   */
  function handleRemoval(id: string): void {
    if (writer.hasWritten(id) && !initialIds.includes(id)) thread.remove(id);
    else drop(id);
    if (!removed.has(id)) removed.set(id, "elsewhere");
  }

  /**
   * Removes a message again that this tab has removed, because a late write of a closed tab has restored it. Initial
   * messages stay, because they have the same ids in each new tab.
   */
  function removeAgain(key: string): void {
    if (removed.has(key) && !key.startsWith("/") && !initialIds.includes(key)) noteChange(key);
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

/** Matches the ids that `createRandomId` creates. An id of the app may not be unique. */
const RANDOM_ID = /^(?:\d+(?:-\d+){3}|[\da-f]{8}(?:-[\da-f]{4,12}){4})$/;

/** Creates the keys of a chat's requests. A message needs a unique id for a derived key. */
function createRequestKeys(context: ThreadContext): Pick<StorageSession, "deriveKey" | "forgetKey"> {
  const { client, collection, thread } = context;
  /** Derived keys that this tab has sent. */
  const usedKeys = new Set<string | undefined>();
  return {
    deriveKey(parentId, request) {
      const parentKey = thread.get(parentId)?.key ?? parentId;
      if (parentId === undefined || parentKey === undefined || !RANDOM_ID.test(parentKey))
        return createRandomId();
      const responses = thread
        .listIds()
        .filter(
          (id) => thread.getParent(id) === parentId && thread.get(id)?.message.role === "assistant",
        ).length;
      const key = hashToId([parentKey, responses, client.user, collection, request]);
      if (usedKeys.has(key)) return createRandomId();
      usedKeys.add(key);
      return key;
    },
    forgetKey: (key) => void usedKeys.delete(key),
  };
}

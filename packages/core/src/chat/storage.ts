import { after } from "../clock.js";
import type { Client } from "../http.js";
import { hasLocks, isLocked, shareLock, withLock } from "../locks.js";
import { reportStorageFailure } from "../platform.js";
import type { RecordStorage } from "../storage/storage.js";
import { waitForStorage } from "../storage/wait.js";
import { isOpen, isPending, type ThreadMessage, withCallsClosed } from "./message.js";
import type { Thread } from "./thread.js";
import type { ThreadNode } from "./tree.js";

/** Keeps a thread in a storage, and takes over what other pages write there. */
export interface ThreadKeeper {
  /** Reads the thread, and from then on hears of others. Once: later calls wait for the same. Never rejects. */
  readonly restore: () => Promise<void>;
  /** A message changed: it is written soon, and nobody waits for it. */
  readonly changed: (id: string, message?: ThreadMessage) => void;
  /** As long as this lasts, answers of this page are under way, and other pages can tell. */
  readonly hold: (turn: Promise<unknown>) => void;
  /** Writes what is left, and lets go of the storage. */
  readonly close: () => void;
}

/** What {@link keepThread} takes. */
export interface ThreadKeeperOptions {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly collection: string;
  readonly thread: Thread;
  /** The page is about to go: the thread gets what has come and was not shown yet. */
  readonly onLeave: () => void;
  /** The thread changed by what somebody else wrote. */
  readonly onMerge: () => void;
  /** Reads on an answer that was left and is kept elsewhere; undefined where that can't be done now. */
  readonly takeUp: (message: ThreadMessage) => Promise<unknown> | undefined;
}

/** The key of the record that says which branch was shown last; no message has it as its id. */
const LEAF = "/leaf";
/** How often an answer under way is written. */
const LIVE_WRITE_MS = 1000;

/** Creates the keeper of one thread: a record for each message, so that two pages never overwrite each other's. */
export function keepThread(options: ThreadKeeperOptions): ThreadKeeper {
  const { client, storage, collection, thread, onLeave, onMerge, takeUp } = options;
  const onFailure = (error: unknown) => reportStorageFailure(client, error);
  const unwritten = new Set<string>(thread.ids());
  const initial = thread.ids();
  const lock = `sluice/${collection}`;
  let open = new AbortController();
  let isWaiting = false;
  let restoring: Promise<void> | undefined;
  let scheduled: AbortController | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  return {
    restore() {
      restoring ??= restore().catch(onFailure);
      return restoring;
    },
    changed(id, message) {
      unwritten.add(id);
      if (isUnderWay(message)) {
        if (!scheduled) schedule(LIVE_WRITE_MS);
      } else schedule(0);
    },
    hold(turn) {
      void shareLock(
        client,
        lock,
        turn.then(() => writing),
      );
    },
    close() {
      write();
      restoring = undefined;
      open.abort();
    },
  };

  async function restore(): Promise<void> {
    open = new AbortController();
    const { signal } = open;
    const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
    listen?.("pagehide", leave, { signal });
    signal.addEventListener("abort", storage.watch(collection, merge, onFailure));
    const records = await waitForStorage(client.clock, () => storage.read(collection), merge);
    const nodes = nodesIn(records);
    // what was there at first gives way to what was kept
    if (nodes.length > 0) for (const id of initial.splice(0)) forget(id);
    const hasOpenEnds = nodes.some(({ message }) => afterReload(message) !== message);
    const hasLivePage = hasOpenEnds && (await isLocked(client, lock));
    const isOpenStill = ({ message }: ThreadNode) => hasLivePage || isKept(message);
    thread.merge(
      nodes.map((node) => (isOpenStill(node) ? node : { ...node, message: afterReload(node.message) })),
    );
    if (nodes.some(isOpenStill)) void markLeft();
    const leaf = records.get(LEAF);
    if (typeof leaf === "string") thread.choose(leaf);
  }

  function leave(): void {
    onLeave();
    write();
  }

  function merge(changes: ReadonlyMap<string, unknown>): void {
    for (const [key, record] of changes) if (record === undefined) forget(key);
    for (const node of nodesIn(changes)) {
      // what another page has under way is shown where it can be told when that page goes
      if (isUnderWay(node.message) && !hasLocks()) continue;
      thread.merge([node]);
      if (isUnderWay(node.message)) void markLeft();
    }
    onMerge();
  }

  /**
   * Waits until no page has an answer under way: what has no end then was left. What is kept elsewhere is read on, by
   * this page alone: others wait for it as for any page at work.
   */
  async function markLeft(): Promise<void> {
    if (isWaiting) return;
    isWaiting = true;
    const { signal } = open;
    try {
      await withLock(client, lock, signal, async () => {
        isWaiting = false;
        thread.merge(nodesIn(await storage.read(collection)));
        signal.throwIfAborted();
        for (const id of thread.ids()) {
          const message = thread.node(id)?.message;
          if (!message || !isUnderWay(message)) continue;
          const read = isKept(message) ? takeUp(message) : undefined;
          if (read) await read.then(write);
          else thread.put(afterReload(message));
        }
        // whoever is next has to find it ended
        await writing;
      });
      onMerge();
    } catch (error) {
      if (!signal.aborted) onFailure(error);
    } finally {
      isWaiting = false;
    }
  }

  /** Removes a message that is not in the storage: there is nothing to write. */
  function forget(id: string): void {
    thread.remove(id);
    unwritten.delete(id);
  }

  function schedule(ms: number): void {
    scheduled?.abort();
    scheduled = ms === 0 ? undefined : new AbortController();
    if (!scheduled) queueMicrotask(write);
    else after(client.clock, ms, scheduled.signal, write);
  }

  function write(): void {
    scheduled?.abort();
    scheduled = undefined;
    if (unwritten.size === 0) return;
    const changes = new Map<string, unknown>([[LEAF, thread.path.at(-1)?.id]]);
    const ids = [...unwritten];
    for (const id of ids) changes.set(id, recordOf(thread.node(id)));
    unwritten.clear();
    writing = writing
      .then(() => storage.write(collection, changes))
      .catch((error) => {
        // once more with the next change: there may be room by then
        for (const id of ids) unwritten.add(id);
        onFailure(error);
      });
  }
}

function isUnderWay(message: ThreadMessage | undefined): boolean {
  return message?.role === "assistant" && message.outcome === undefined;
}

/**
 * An answer that is under way where its page's end does not matter. Where pages can't tell of each other, two of them
 * would read it on, and each run its tools.
 */
function isKept(message: ThreadMessage): boolean {
  return hasLocks() && isUnderWay(message) && typeof message.streamId === "string";
}

function recordOf(node: ThreadNode | undefined): unknown {
  if (!node) return undefined;
  const { branches: _, error, ...message } = node.message;
  const said = error && { error: reasonOf(error) };
  return { message: { ...message, ...said }, parent: node.parent ?? null, revision: node.revision };
}

/** A storage holds what anybody put there: what is no message of ours is left out. */
function nodeOf(key: string, record: unknown): ThreadNode | undefined {
  if (!isObject(record) || !isObject(record["message"])) return undefined;
  const { message, parent, revision } = record;
  const { id, role, content, error, toolCalls, images } = message as Record<string, unknown>;
  const isMessage =
    id === key && roles.has(role) && typeof content === "string" && typeof revision === "number";
  if (!isMessage || !isListOrAbsent(toolCalls) || !isListOrAbsent(images)) return undefined;
  const revived = isObject(error) ? { error: Object.assign(new Error(String(error["message"])), error) } : {};
  return {
    message: { ...message, ...revived } as unknown as ThreadMessage,
    parent: typeof parent === "string" ? parent : undefined,
    revision,
  };
}

/** What an error says; not the answer's body, or the text that the message has anyway. */
function reasonOf(error: Error): Record<string, unknown> {
  const { name, message } = error;
  const { code, status, reason, phase, type, apiCode } = error as Error & Record<string, unknown>;
  return { name, message, code, status, reason, phase, type, apiCode };
}

function nodesIn(records: ReadonlyMap<string, unknown>): ThreadNode[] {
  return [...records].flatMap(([key, record]) => nodeOf(key, record) ?? []);
}

const roles: ReadonlySet<unknown> = new Set(["system", "user", "assistant"]);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isListOrAbsent(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}

const LEFT = "the page was left before the call had a result";

/** What ran when the page went does not run any more; what waits for somebody still waits. */
function afterReload(message: ThreadMessage): ThreadMessage {
  if (isUnderWay(message)) {
    const { streamId: _, ...ended } = withCallsClosed(message, LEFT);
    return { ...ended, outcome: "interrupted" };
  }
  return withCallsClosed(message, LEFT, (call) => isOpen(call) && !isPending(call));
}

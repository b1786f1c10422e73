import type { Client, RecordStorage, StorageStatus, Store } from "@sluice/core";
import { createBackoff } from "@sluice/core/extend";
import { type ChatStorage, customStorage, indexedDBStorage, memoryStorage } from "@sluice/stores";
import { addUserPrefix } from "@sluice/stores/extend";
import { assertStorable, createCopy } from "./copy.js";
import { isEqual, isObject } from "./json.js";
import { registerRemote } from "./remotes.js";
import type { StoredStatus, Sync } from "./sync.js";
import { fromStored, type StoredError, SyncError, toStored } from "./sync-error.js";

/** Options of {@link remoteStorage}. */
export interface RemoteStorageOptions {
  /**
   * Name of the local copy: of its database and its Web Lock. Each app of an origin needs its own name.
   *
   * @default "sluice"
   */
  readonly name?: string | undefined;
  /**
   * Storage of the local copy. Records that a chat stored in it before are sent when the chat is opened.
   *
   * @default indexedDBStorage({ name }), or memoryStorage() without IndexedDB
   */
  readonly local?: RecordStorage | undefined;
}

/** Storage of conversations on a server, with a copy in this browser. */
export interface RemoteStorage extends ChatStorage {
  /** State of the sync. It is the same in all tabs, and survives a reload. */
  readonly status: Store<StorageStatus>;
  /**
   * Sends the local changes of a collection and reads the server's changes now.
   *
   * @param collection name without the user: `chat/trip`
   * @throws {SyncError} if the server can't be reached, refuses a record, or does not respond within 30 s
   */
  sync(collection: string): Promise<void>;
  /** Continues a stopped sync, e.g. after the user has signed in, and sends refused records again. */
  retryNow(): void;
}

/** Time limit of `sync`, in milliseconds. */
const SYNC_MS = 30_000;
/** Waits between two attempts to load the code of the sync. */
const LOAD_RETRIES = { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 30_000 };
const CLOSED = "the user has signed out: create another storage";

/**
 * Creates a storage that syncs conversations between all devices of a user. Needs a proxy with `sync()` of this lab.
 * Sends nothing before the first use.
 *
 * Chats (`chat/…`) and their list (`conversations`) live on the server, with a copy in this browser that works offline.
 * All other collections stay in this browser. One tab syncs, and the others read and write the copy.
 *
 * The copy belongs to the account that the server names in its first response. If another user is signed in later, the
 * sync stops with an error, and nothing is sent or used until `signOut(client)` and a new storage.
 *
 * @param client client of the chats: its address, headers and `user`
 * @example
 * ```ts
 * const storage = remoteStorage(client);
 * const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
 * storage.status.getSnapshot(); // { status: "saved", pending: 0 }
 * ```
 */
export function remoteStorage(client: Client, options: RemoteStorageOptions = {}): RemoteStorage {
  const { name = "sluice" } = options;
  const base = options.local ?? createLocalStorage(name);
  const prefix = addUserPrefix(client, "");
  const ended = new AbortController();
  const local = createEndingStorage(base, ended.signal);
  const usedCollections = new Set<string>();
  const listeners = new Set<() => void>();
  const stateListeners = new Set<() => void>();
  let status: StorageStatus = { status: "saved", pending: 0 };
  /** `status` with its error in the stored form, to find changes. */
  let storedStatus: object = status;
  let isStarted = false;
  let sync: Sync | undefined;
  const copy = createCopy(
    local,
    prefix,
    () => {
      updateStatus();
      sync?.wake();
    },
    (changes) => {
      // another tab has signed the user out, and removed the copy
      if (changes.has("account") && changes.get("account") === undefined) return end();
      if (changes.has("status") || changes.has("account")) updateStatus();
      if (changes.has("retry")) sync?.retry();
      for (const listener of [...stateListeners]) listener();
      sync?.wake();
    },
  );
  const reconnect = () => sync?.reconnect();

  const storage: RemoteStorage = {
    openChat: customStorage(base).openChat,
    async read(collection) {
      const synced = findSyncedName(collection);
      return synced === undefined ? local.read(collection) : copy.read(markUsed(synced));
    },
    async write(collection, changes) {
      const synced = findSyncedName(collection);
      if (synced === undefined) return local.write(collection, changes);
      await copy.write(markUsed(synced), changes);
    },
    subscribe(collection, listener, onRefusal) {
      const synced = findSyncedName(collection);
      return synced === undefined
        ? local.subscribe(collection, listener, onRefusal)
        : copy.subscribe(markUsed(synced), listener, onRefusal);
    },
    ...(base.broadcast && {
      broadcast(collection: string, changes: ReadonlyMap<string, unknown>) {
        const synced = findSyncedName(collection);
        if (synced === undefined) local.broadcast?.(collection, changes);
        else copy.broadcast(synced, changes);
      },
    }),
    async clear(collection) {
      // the sync ends first: it must neither send the removal nor write into the copy again
      end();
      await clearCopy(collection);
    },
    ...(base.lock && { lock: (lock: string) => base.lock?.(lock) ?? Promise.resolve(undefined) }),
    status: {
      getSnapshot: () => status,
      subscribe(listener) {
        // a new function, because the same listener may be added twice
        const call = () => listener();
        listeners.add(call);
        start();
        return () => void listeners.delete(call);
      },
    },
    sync: async (collection) => syncNow(findSyncedName(prefix + collection)),
    retryNow: () => void copy.state.write(new Map([["retry", { at: Date.now() }]])).catch(() => {}),
  };
  registerRemote({ storage, post: async (...request) => (await loadSync()).post(...request) });
  return storage;

  /** Returns the name of a collection on the server; undefined for a collection of this browser. */
  function findSyncedName(collection: string): string | undefined {
    ended.signal.throwIfAborted();
    const synced = collection.startsWith(prefix) ? collection.slice(prefix.length) : "";
    if (synced !== "conversations" && !synced.startsWith("chat/")) return undefined;
    assertStorable(synced, "collection");
    return synced;
  }

  /** Tells the syncing tab to pull a collection. Returns its name. */
  function markUsed(collection: string): string {
    start();
    if (usedCollections.has(collection)) return collection;
    usedCollections.add(collection);
    requestSync(collection).catch(() => {});
    return collection;
  }

  function start(): void {
    if (isStarted || ended.signal.aborted) return;
    isStarted = true;
    copy.open().then(updateStatus, () => {});
    globalThis.addEventListener?.("online", reconnect);
    void withLock(`sluice/sync/${name}/${prefix}`, ended.signal, runSync).catch(() => {
      isStarted = false;
    });
  }

  /** Runs the sync in this tab. Loads its code again after a failure, because a page may start without a network. */
  async function runSync(): Promise<void> {
    const backoff = createBackoff(client, LOAD_RETRIES);
    while (!sync)
      try {
        await loadSync();
      } catch (error) {
        const failed: StoredStatus = { isBusy: false, error: toStored(error as SyncError) };
        await copy.state.write(new Map([["status", failed]]));
        await backoff.wait(error, { signal: ended.signal });
      }
    await sync.run(ended.signal);
  }

  /** Loads the code of the sync, which a page without a network does not need. */
  async function loadSync(): Promise<Sync> {
    try {
      const { createSync } = await import("./sync.js");
      sync ??= createSync(client, copy);
      return sync;
    } catch (cause) {
      throw new SyncError("temporary", "connection_failed", "the code of the sync could not be loaded", {
        cause,
      });
    }
  }

  /** Ends the sync of this object. It cannot be started again. */
  function end(): void {
    if (ended.signal.aborted) return;
    ended.abort(new SyncError("request", "closed", CLOSED));
    copy.close();
    globalThis.removeEventListener?.("online", reconnect);
  }

  /** Asks the syncing tab to read a collection. Returns the id of the request. */
  async function requestSync(collection: string): Promise<string> {
    const id = `${Math.random()}`;
    await copy.state.write(new Map([[`want/${collection}`, { at: Date.now(), request: id }]]));
    return id;
  }

  async function syncNow(collection: string | undefined): Promise<void> {
    if (collection === undefined) return;
    markUsed(collection);
    await copy.open();
    const id = await requestSync(collection);
    const waiting = new AbortController();
    try {
      await new Promise<void>((resolve, reject) => {
        const check = () => {
          const done = copy.state.records.get(`done/${collection}`);
          if (!isObject(done) || done["request"] !== id) return;
          if (done["error"] === undefined) resolve();
          else reject(fromStored(done["error"] as StoredError));
        };
        stateListeners.add(check);
        waiting.signal.addEventListener("abort", () => stateListeners.delete(check));
        ended.signal.addEventListener("abort", () => reject(ended.signal.reason), { signal: waiting.signal });
        client.clock.sleep(SYNC_MS, waiting.signal).then(
          () => reject(new SyncError("temporary", "timeout", `not in sync after ${SYNC_MS} ms`)),
          () => {},
        );
        check();
      });
    } finally {
      waiting.abort(null);
    }
  }

  function updateStatus(): void {
    const { isBusy, error } = (copy.state.records.get("status") ?? { isBusy: false }) as StoredStatus;
    const pending = copy.countUnsent();
    const next = { status: error ? "error" : pending > 0 || isBusy ? "saving" : "saved", pending } as const;
    if (isEqual({ ...next, error }, storedStatus)) return;
    storedStatus = { ...next, error };
    status = { ...next, ...(error && { error: fromStored(error) }) };
    for (const listener of [...listeners]) listener();
  }

  async function clearCopy(collection: string): Promise<void> {
    const synced = collection.startsWith(prefix) && collection.slice(prefix.length);
    await base.clear?.(collection);
    if (synced) await base.clear?.(`${prefix}sync/${synced}`);
  }
}

function createLocalStorage(name: string): RecordStorage {
  return (globalThis as Partial<typeof globalThis>).indexedDB ? indexedDBStorage({ name }) : memoryStorage();
}

/** Wraps a storage. After `signal` aborts, reads and writes fail, and listeners get no changes. */
function createEndingStorage(storage: RecordStorage, signal: AbortSignal): RecordStorage {
  return {
    async read(collection) {
      signal.throwIfAborted();
      return storage.read(collection);
    },
    async write(collection, changes) {
      signal.throwIfAborted();
      return storage.write(collection, changes);
    },
    subscribe(collection, listener, onRefusal) {
      return storage.subscribe(collection, (changes) => signal.aborted || listener(changes), onRefusal);
    },
    broadcast: (collection, changes) => signal.aborted || storage.broadcast?.(collection, changes),
  };
}

/** Runs `act` in one tab at a time. Without Web Locks each tab runs it: a repeated push changes nothing. */
function withLock(name: string, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  const { locks } = (globalThis as Partial<typeof globalThis>).navigator ?? {};
  return locks ? locks.request(name, { signal }, act) : act();
}

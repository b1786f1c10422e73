import type { Client } from "@sluice/core";
import { createConnection } from "./connection.js";
import type { Copy, OutboxEntry, Versioned } from "./copy.js";
import { isEqual, isObject, isText } from "./json.js";
import { reduce, type SyncEvent, type SyncState } from "./machine.js";
import { mergeChange, mergeCopy } from "./merge.js";
import { cutBatch, groupByRecord, listReady, type PendingChange } from "./pending-changes.js";
import { type StoredError, SyncError, toStored } from "./sync-error.js";
import { type Change, type PullPage, parsePage, parsePush } from "./wire.js";

/** State of the sync as it is stored for all tabs. */
export interface StoredStatus {
  /** True while the sync reads or sends. */
  readonly isBusy: boolean;
  readonly error?: StoredError;
}

export type Sync = ReturnType<typeof createSync>;

/** State of one collection in the syncing tab. */
interface Collection {
  /** True if the server may have changes that the copy lacks. */
  isStale: boolean;
  /** Newest version of the copy. */
  version: number;
  /** Newest version in a change event. It may come from a push of this client that is still in flight. */
  announced: number;
  /** Maximum number of changes in one push. */
  limit: number;
  /** Records that the server refused, each with the id of the refused entry. */
  readonly refused: Map<string, { readonly id: string; readonly error: SyncError }>;
}

/** Changes that a push sends. */
interface Batch {
  readonly name: string;
  readonly changes: readonly PendingChange[];
}

/** Maximum number of changes in one push. */
const MAX_CHANGES = 100;
/** Time after which a collection that no tab has opened is not pulled any longer, in milliseconds. */
const IN_USE_MS = 86_400_000;
/** Pause before the client opens the event stream again, in milliseconds. */
const RECONNECT_MS = 1000;
/** Time after which an event stream counts as stable, in milliseconds. */
const STABLE_MS = 10_000;

/** Creates the sync of one browser with the server. It runs in one tab, and sends nothing before `run`. */
export function createSync(client: Client, copy: Copy) {
  const { clock } = client;
  const connection = createConnection(client, copy);
  const collections = new Map<string, Collection>();
  let state: SyncState = { name: "off" };
  let isWorking = false;
  /** Cursor of the change events. */
  let since: string | undefined;
  let openStream: AbortController | undefined;
  let wakeUp = () => {};
  /** Id of the newest request that a pull has fulfilled, by collection. */
  const fulfilledRequests = new Map<string, unknown>();
  return {
    /** Sends a request of a server turn. */
    post: connection.post,
    /** Begins or continues the sync, and ends when `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      await copy.open();
      dispatch({ type: "started" });
      const end = () => {
        dispatch({ type: "closed" });
        openStream?.abort(signal.reason);
        wakeUp();
      };
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
      while (state.name !== "closed") await step(signal);
    },
    /** Reports a change of the outbox or the state. */
    wake: (): void => wakeUp(),
    /** Sends again after a stop or a refusal, or during a wait. */
    retry(): void {
      for (const { refused } of collections.values()) refused.clear();
      dispatch({ type: "retried" });
      wakeUp();
    },
    /** Ends a wait after a failed connection, because the network is back. */
    reconnect(): void {
      if (state.name === "waiting" && state.error.code === "connection_failed") dispatch({ type: "due" });
    },
  };

  function dispatch(event: SyncEvent): void {
    const next = reduce(state, event);
    if (next === state) return;
    if (next.name !== "live") {
      openStream?.abort(null);
      openStream = undefined;
    }
    if (next.name === "joining") {
      since = undefined;
      for (const collection of collections.values()) collection.isStale = true;
    }
    state = next;
    saveStatus();
    wakeUp();
  }

  /** Acts on the current state, until the state may have changed. */
  async function step(signal: AbortSignal): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    if ("error" in state) await reportDone(state.error).catch(() => {});
    if (state.name === "waiting") {
      const timer = new AbortController();
      const due = clock.sleep(Math.max(0, state.retryAt - clock.now()), timer.signal).then(
        () => dispatch({ type: "due" }),
        () => {},
      );
      // a change of the outbox updates the status during the wait
      await Promise.race([due, woken]);
      timer.abort(null);
      saveStatus();
      return;
    }
    if (state.name === "joining" || state.name === "live") {
      try {
        isWorking = true;
        await synchronize(signal);
        isWorking = false;
        dispatch({ type: "synced" });
        openEvents(signal);
        saveStatus();
      } catch (error) {
        isWorking = false;
        if (!signal.aborted) fail(error);
        return;
      }
    }
    saveStatus();
    await woken;
  }

  function fail(cause: unknown): void {
    const error =
      cause instanceof SyncError
        ? cause
        : new SyncError("temporary", "storage_failed", "the local copy could not be used", { cause });
    dispatch({ type: "failed", error, now: clock.now(), jitter: client.random() });
  }

  /** Reads the stale collections and sends the outbox, until nothing is left. */
  async function synchronize(signal: AbortSignal): Promise<void> {
    for (;;) {
      addCollectionsInUse();
      const stale = [...collections].find(
        ([, { isStale, announced, version }]) => isStale || announced > version,
      )?.[0];
      if (stale !== undefined) {
        await pull(stale, signal);
        continue;
      }
      const batch = findBatch();
      if (!batch) return void (await reportDone());
      saveStatus();
      await push(batch, signal);
    }
  }

  /** Lists the collections that a tab has opened not long ago. */
  function listInUse(): readonly string[] {
    return [...copy.state.records].flatMap(([key, want]) =>
      key.startsWith("want/") && isObject(want) && Date.now() - Number(want["at"]) < IN_USE_MS
        ? key.slice("want/".length)
        : [],
    );
  }

  /** Adds the collections that a tab has opened, and those with unsent changes. */
  function addCollectionsInUse(): void {
    for (const name of listInUse()) {
      const collection = getCollection(name);
      if (readRequest(name) !== fulfilledRequests.get(name)) collection.isStale = true;
    }
    for (const { collection } of copy.listOutbox()) getCollection(collection);
  }

  function getCollection(name: string): Collection {
    const known = collections.get(name);
    if (known) return known;
    const created = { isStale: true, version: 0, announced: 0, limit: MAX_CHANGES, refused: new Map() };
    collections.set(name, created);
    return created;
  }

  /** Tells the tabs that requested a sync of a collection that it is done, or why it failed. */
  async function reportDone(failure?: SyncError): Promise<void> {
    const done = new Map<string, unknown>();
    for (const name of listInUse()) {
      const request = readRequest(name);
      const stored = copy.state.records.get(`done/${name}`);
      if (isObject(stored) && stored["request"] === request) continue;
      if (!failure && request !== fulfilledRequests.get(name)) continue;
      const [refusal] = collections.get(name)?.refused.values() ?? [];
      const error = failure ?? refusal?.error;
      done.set(`done/${name}`, { request, ...(error && { error: toStored(error) }) });
    }
    if (done.size > 0) await copy.state.write(done);
  }

  function readRequest(name: string): unknown {
    const want = copy.state.records.get(`want/${name}`);
    return isObject(want) ? want["request"] : undefined;
  }

  async function pull(name: string, signal: AbortSignal): Promise<void> {
    const collection = getCollection(name);
    const request = readRequest(name);
    const cursor = readCursor(name);
    Object.assign(collection, { isStale: false, announced: 0 });
    try {
      const { changes, ...end } = await readPages(name, cursor, signal);
      signal.throwIfAborted();
      // reset the cursor first: after a crash, a copy ahead of its cursor could not detect a restored server
      if (changes.length > 0 && cursor !== null) await saveCursor(name, null);
      await receive(name, changes, { isJoin: cursor === null });
      await saveCursor(name, end.cursor);
      since ??= end.cursor;
      fulfilledRequests.set(name, request);
    } catch (error) {
      collection.isStale = true;
      if (!(error instanceof SyncError) || error.code !== "unknown_cursor" || cursor === null) throw error;
      await resetCursor(name);
    }
  }

  /** Forgets the position in the server's history, because the server does not know it. */
  async function resetCursor(name: string): Promise<void> {
    since = undefined;
    for (const collection of collections.values())
      Object.assign(collection, { isStale: true, version: 0, announced: 0 });
    await saveCursor(name, null);
  }

  /** Reads all pages of a pull before the copy changes, because a page may have a message without its parent. */
  async function readPages(name: string, from: string | null, signal: AbortSignal): Promise<PullPage> {
    const changes: Change[] = [];
    for (let cursor = from; ; ) {
      const page = await connection.post("pull", { collection: name, cursor }, parsePage, signal);
      changes.push(...page.changes);
      if (!page.hasMore) return { ...page, changes };
      cursor = page.cursor;
    }
  }

  async function push({ name, changes }: Batch, signal: AbortSignal): Promise<void> {
    const collection = getCollection(name);
    const sent = changes.map(({ key, base, value }) => ({ record: key, base, value }));
    const body = { collection: name, cursor: readCursor(name), changes: sent };
    try {
      const { results, cursor } = await connection.post(
        "push",
        body,
        (json) => parsePush(json, sent),
        signal,
      );
      signal.throwIfAborted();
      collection.limit = MAX_CHANGES;
      const received: Change[] = [];
      const confirmed: OutboxEntry[] = [];
      for (const [index, result] of results.entries()) {
        const { key, value, entries } = changes[index] as PendingChange;
        const { status, version, code, message } = result;
        if (status === "stored") {
          received.push({ record: key, version, value });
          confirmed.push(...entries);
        } else if (status === "conflict") received.push({ record: key, version, value: result.value });
        else if (status === "refused" && code === "server_record") {
          // the tabs show the refused change: replace it with the server's value
          received.push({ record: key, version, value: result.value });
          confirmed.push(...entries);
        } else if (status === "refused") refuse(collection, changes[index], code, message);
      }
      // other devices changed the collection: the next pull returns all changes
      if (cursor === null) collection.isStale = true;
      else {
        // save the cursor first, so that the copy is never ahead of it: after a crash the push is repeated
        await saveCursor(name, cursor);
        await receive(name, received, { confirmed });
      }
    } catch (error) {
      if (!(error instanceof SyncError) || error.kind !== "request") throw error;
      if (error.code === "unknown_cursor") await resetCursor(name);
      else if (changes.length > 1) collection.limit = Math.ceil(changes.length / 2);
      else if ([400, 413, 422].includes(error.status ?? 0))
        refuse(collection, changes[0], error.code, error.message);
      else throw error;
    }
  }

  /** Holds a change back until the app changes the record again, or asks for another attempt. */
  function refuse(
    collection: Collection,
    change: PendingChange | undefined,
    code: string,
    message: string,
  ): void {
    const last = change?.entries.at(-1);
    if (!change || !last) return;
    const error = new SyncError("request", code, `the server refused the record ${change.key}: ${message}`);
    collection.refused.set(change.key, { id: last.id, error });
  }

  /**
   * Stores values of the server in the copy, and merges them with unsent changes.
   *
   * @param isJoin true if `changes` contains all records on the server
   * @param confirmed outbox entries that the server has stored
   */
  async function receive(
    name: string,
    changes: readonly Change[],
    {
      isJoin = false,
      confirmed = [],
    }: { readonly isJoin?: boolean; readonly confirmed?: readonly OutboxEntry[] },
  ): Promise<void> {
    const server = new Map<string, Versioned | undefined>();
    const added = new Map<string, { readonly value: unknown; readonly base: number; readonly at?: number }>();
    const removed = [...confirmed];
    const pending = listPending(name, confirmed);
    const before: ReadonlyMap<string, Versioned | undefined> = isJoin
      ? await copy.readServerRecords(name)
      : new Map();
    const collection = getCollection(name);
    for (const { record, version, value } of changes) {
      collection.version = Math.max(collection.version, version);
      server.set(record, value === null ? undefined : { version, value });
      const mine = pending.get(record);
      const stored = before.get(record);
      const merge = mine || stored?.version === 0 ? mergeChange : mergeCopy;
      const local = mine ?? stored;
      const merged = local && merge(record, local.value, value);
      if (merged !== undefined && !isEqual(merged, value)) {
        const at = mine?.entries.at(-1)?.at;
        added.set(record, { value: merged, base: version, ...(at !== undefined && { at }) });
      }
      if (mine) removed.push(...mine.entries);
    }
    for (const [key, stored] of before) {
      if (server.has(key) || !stored) continue;
      server.set(key, undefined);
      // the server lost the record, or never had it: send it
      if (!pending.has(key)) added.set(key, { value: stored.value, base: 0 });
    }
    await copy.reconcile(name, { server, added, removed });
    if (isJoin) await copy.clearUnsynced(name);
  }

  /** Lists the unsent changes of a collection by record, without confirmed entries. */
  function listPending(
    name: string,
    confirmed: readonly OutboxEntry[] = [],
  ): ReadonlyMap<string, PendingChange> {
    const ids = new Set(confirmed.map(({ id }) => id));
    return groupByRecord(
      copy.listOutbox().filter(({ collection, id }) => collection === name && !ids.has(id)),
    );
  }

  /** Finds the next changes to send. */
  function findBatch(): Batch | undefined {
    for (const [name, { limit, refused }] of collections) {
      const pending = listPending(name);
      // the app has changed a refused record: it is sent again
      for (const [key, { id }] of refused)
        if (pending.get(key)?.entries.at(-1)?.id !== id) refused.delete(key);
      const changes = cutBatch(
        listReady(pending, (key) => refused.has(key)),
        limit,
      );
      if (changes.length > 0) return { name, changes };
    }
    return undefined;
  }

  /** Reads the change events while the sync is live. */
  function openEvents(signal: AbortSignal): void {
    if (openStream || state.name !== "live" || collections.size === 0) return;
    openStream = new AbortController();
    const { signal: ended } = openStream;
    const readAll = async () => {
      for (;;) {
        const startedAt = clock.now();
        await connection.readEvents(since, handleChanges, ended);
        // an intermediary may end each stream at once: fail, so that the pauses grow
        if (clock.now() - startedAt < STABLE_MS)
          throw new SyncError("temporary", "stream_ended", "the change events ended too early");
        await clock.sleep(RECONNECT_MS, ended);
      }
    };
    clock.sleep(STABLE_MS, ended).then(
      () => dispatch({ type: "stable" }),
      () => {},
    );
    readAll().catch((error) => {
      if (ended.aborted || signal.aborted) return;
      if (error instanceof SyncError && error.code === "unknown_cursor") since = undefined;
      // a refusal is temporary here: the next attempt pulls every collection, and gets a new cursor
      const isRefused = error instanceof SyncError && error.kind === "request";
      fail(isRefused ? new SyncError("temporary", error.code, error.message, { cause: error }) : error);
    });
  }

  function handleChanges(json: Record<string, unknown>): void {
    const { cursor, changes } = json;
    if (!Array.isArray(changes)) return;
    // of several events, only the last one has a cursor
    if (isText(cursor)) since = cursor;
    for (const change of changes as readonly unknown[]) {
      if (!isObject(change) || !isText(change["collection"])) continue;
      const known = collections.get(change["collection"]);
      if (known) known.announced = Math.max(known.announced, Number(change["version"]) || 0);
    }
    wakeUp();
  }

  function readCursor(name: string): string | null {
    const stored = copy.state.records.get(`cursor/${name}`);
    return isObject(stored) && isText(stored["cursor"]) ? stored["cursor"] : null;
  }

  function saveCursor(name: string, cursor: string | null): Promise<void> {
    return copy.state.write(new Map([[`cursor/${name}`, cursor === null ? undefined : { cursor }]]));
  }

  /** Stores the state for all tabs, if it has changed. */
  function saveStatus(): void {
    const refusal = [...collections.values()].flatMap(({ refused }) => [...refused.values()])[0];
    const error = "error" in state ? state.error : refusal?.error;
    const isBusy = state.name === "joining" || (state.name === "live" && isWorking);
    const status: StoredStatus = { isBusy, ...(error && { error: toStored(error) }) };
    if (state.name === "closed" || isEqual(status, copy.state.records.get("status"))) return;
    copy.state.write(new Map([["status", status]])).catch(() => {});
  }
}

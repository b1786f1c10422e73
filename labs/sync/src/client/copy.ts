import { ConfigurationError, type RecordStorage } from "@sluice/core";
import { isObject, isText } from "./json.js";
import { createMirror } from "./mirror.js";
import { hasTurn, isInFlight } from "./records.js";

type Changes = ReadonlyMap<string, unknown>;

/** A record on the server. */
export interface Versioned {
  readonly version: number;
  readonly value: unknown;
}

/** A change that the server has not confirmed. */
export interface OutboxEntry {
  readonly id: string;
  readonly collection: string;
  readonly key: string;
  /** The record; null if it was removed. */
  readonly value: unknown;
  /** Version that the change was made from; 0 for a new record. */
  readonly base: number;
  /** Time of the change in Unix milliseconds, with a fraction: the order of the changes. */
  readonly at: number;
  /** Account that the tab knew; absent before the first response of the server. */
  readonly account?: string;
}

/** Changes of the copy that follow from a response of the server. */
interface Reconciliation {
  /** Records of the server. Undefined for a removed record. */
  readonly server: ReadonlyMap<string, Versioned | undefined>;
  /** Changes to send later. `at` is the time of the change. */
  readonly added: ReadonlyMap<
    string,
    { readonly value: unknown; readonly base: number; readonly at?: number }
  >;
  /** Entries to remove from the outbox. */
  readonly removed: readonly OutboxEntry[];
}

export type Copy = ReturnType<typeof createCopy>;

/**
 * Creates the local copy of the server's collections. All tabs read and write it. It has three parts:
 *
 * - The records on the server (`sync/…`). Only the syncing tab changes them.
 * - The outbox of all collections. A change of the app is one record of the outbox: one write stores the change and the
 *   intent to send it.
 * - The state of the sync, in records with these keys:
 *   - `account`: the account that the copy belongs to
 *   - `status`: busy or failed
 *   - `cursor/<collection>`: the position in the server's history
 *   - `want/<collection>`: a tab uses the collection, or requests a sync of it
 *   - `done/<collection>`: the result of the last requested sync
 *   - `retry`: the app called `retryNow()`
 *
 * @param prefix prefix of the user's collections in `local`
 * @param onOutbox called after each change of the outbox
 * @param onState called after each change of the state
 */
export function createCopy(
  local: RecordStorage,
  prefix: string,
  onOutbox: () => void,
  onState: (changes: Changes) => void,
) {
  const tabId = `${Math.random()}`;
  /** Versions of the server's records that this tab knows, by collection. */
  const versions = new Map<string, Map<string, number>>();
  const listeners = new Set<{ readonly collection: string; readonly report: (changes: Changes) => void }>();
  /** Ids of this tab's last entries, by collection and key. */
  const lastEntries = new Map<string, string>();
  let entryCount = 0;
  /** Time of the newest entry that this tab knows. */
  let lastAt = 0;
  /** Sorted entries of the outbox; undefined after a change. */
  let sortedOutbox: readonly OutboxEntry[] | undefined;
  const state = createMirror(local, `${prefix}sync/state`, (changes) => {
    if (changes.has("account")) sortedOutbox = undefined;
    onState(changes);
  });
  const outbox = createMirror(local, `${prefix}sync/outbox`, (changes) => {
    sortedOutbox = undefined;
    for (const [id, entry] of changes) {
      const parsed = parseEntry(id, entry);
      lastAt = Math.max(lastAt, parsed?.at ?? 0);
      if (parsed) report(parsed.collection, new Map([[parsed.key, toValue(parsed.value)]]));
    }
    onOutbox();
  });
  const copy = {
    state,
    get account(): string | undefined {
      const stored = state.records.get("account");
      return isObject(stored) && isText(stored["account"]) ? stored["account"] : undefined;
    },
    /** Reads the outbox and the state. */
    open: async () => void (await Promise.all([state.open(), outbox.open()])),
    /** Reads the records of a collection with the changes that are not sent. */
    async read(collection: string): Promise<Map<string, unknown>> {
      await copy.open();
      const [unsynced, stored] = await readLocal(collection);
      const records = new Map([...unsynced, ...parseStored(collection, stored)]);
      for (const { key, value } of listEntries(collection))
        if (value === null) records.delete(key);
        else records.set(key, toJSON(value));
      return records;
    },
    /** Stores changes of the app. */
    async write(collection: string, changes: Changes): Promise<void> {
      const entries = new Map<string, unknown>();
      const deviceState = new Map<string, unknown>();
      for (const [key, record] of changes) {
        assertStorable(key, "record");
        // throws for a value without JSON, which must not become a removal
        const value = record === undefined ? undefined : toJSON(record);
        if (key.startsWith("/")) deviceState.set(key, value === undefined ? undefined : { value });
        else if (!hasTurn(value))
          addEntry(entries, collection, key, value ?? null, versions.get(collection)?.get(key) ?? 0);
      }
      await Promise.all([
        deviceState.size > 0 && local.write(createName(collection), deviceState),
        entries.size > 0 && outbox.write(entries),
      ]);
    },
    subscribe(...[collection, listener, onRefusal]: Parameters<RecordStorage["subscribe"]>): () => void {
      const entry = { collection, report: listener };
      listeners.add(entry);
      const stop = local.subscribe(
        createName(collection),
        (changes) => listener(parseStored(collection, changes)),
        onRefusal,
      );
      copy.open().catch((error) => onRefusal?.(error));
      return () => {
        listeners.delete(entry);
        stop();
      };
    },
    broadcast(collection: string, changes: Changes): void {
      const wrapped = [...changes].map(([key, value]) => [key, { value }] as const);
      local.broadcast?.(createName(collection), new Map(wrapped));
    },
    /** Lists the changes of this account that are not sent, oldest first. */
    listOutbox(): readonly OutboxEntry[] {
      sortedOutbox ??= [...outbox.records]
        .flatMap(([id, entry]) => parseEntry(id, entry) ?? [])
        .filter(isOwnEntry)
        .sort((a, b) => a.at - b.at);
      return sortedOutbox;
    },
    /** Counts the records that the server does not have. A response in flight is not counted before its end. */
    countUnsent(): number {
      const unsent = copy.listOutbox().filter(({ value }) => !isInFlight(value));
      return new Set(unsent.map(({ collection, key }) => JSON.stringify([collection, key]))).size;
    },
    /** Reads the server's records as of the last pull. Records from before the first sync have version 0. */
    async readServerRecords(collection: string): Promise<Map<string, Versioned | undefined>> {
      const [unsynced, stored] = await readLocal(collection);
      const records = new Map<string, Versioned | undefined>();
      for (const [key, value] of unsynced) if (isKey(key)) records.set(key, { version: 0, value });
      for (const [key, record] of stored) if (isVersioned(record)) records.set(key, record);
      return records;
    },
    /**
     * Replaces records of the server and entries of the outbox. After a crash in between, a change is sent again or merged.
     */
    async reconcile(collection: string, { server, added, removed }: Reconciliation): Promise<void> {
      const entries = new Map<string, unknown>();
      for (const [key, { value, base, at }] of added) addEntry(entries, collection, key, value, base, at);
      if (entries.size > 0) await outbox.write(entries);
      if (server.size > 0) {
        await local.write(createName(collection), server);
        report(collection, parseStored(collection, server));
        // listeners just got the server's value: report the unsent change again
        for (const entry of listEntries(collection))
          if (server.has(entry.key) && !removed.some(({ id }) => id === entry.id))
            report(collection, new Map([[entry.key, toValue(entry.value)]]));
      }
      const ids = removed
        .filter(({ id }) => outbox.records.has(id))
        .map(({ id }) => [id, undefined] as const);
      if (ids.length > 0) await outbox.write(new Map(ids));
    },
    /** Removes the records from before the first sync. Call it after `readServerRecords` has returned them. */
    async clearUnsynced(collection: string): Promise<void> {
      const unsynced = await local.read(prefix + collection);
      if (unsynced.size === 0) return;
      const deviceState = [...unsynced]
        .filter(([key]) => !isKey(key))
        .map(([key, value]) => [key, { value }] as const);
      if (deviceState.length > 0) await local.write(createName(collection), new Map(deviceState));
      await local.write(prefix + collection, new Map([...unsynced.keys()].map((key) => [key, undefined])));
    },
    close(): void {
      state.close();
      outbox.close();
    },
  };
  return copy;

  /** Reads the records from before the first sync, and the records on the server. */
  function readLocal(collection: string) {
    return Promise.all([local.read(prefix + collection), local.read(createName(collection))]);
  }

  function createName(collection: string): string {
    return `${prefix}sync/${collection}`;
  }

  /** Adds an entry to a write of the outbox. It replaces this tab's last entry for the record. */
  function addEntry(
    entries: Map<string, unknown>,
    collection: string,
    key: string,
    value: unknown,
    base: number,
    at?: number,
  ): void {
    entryCount += 1;
    const id = `${tabId}/${entryCount}`;
    const name = JSON.stringify([collection, key]);
    const last = lastEntries.get(name);
    if (last !== undefined && outbox.records.has(last)) entries.set(last, undefined);
    lastEntries.set(name, id);
    const { account } = copy;
    // a fraction, because many changes share a millisecond
    lastAt = Math.max(Date.now(), lastAt + 0.001);
    entries.set(id, {
      collection,
      key,
      value,
      base,
      at: at ?? lastAt,
      ...(account !== undefined && { account }),
    });
  }

  function listEntries(collection: string): readonly OutboxEntry[] {
    return copy.listOutbox().filter((entry) => entry.collection === collection);
  }

  function isOwnEntry({ account }: OutboxEntry): boolean {
    return account === undefined || copy.account === undefined || account === copy.account;
  }

  /** Parses records of the local storage, and stores their versions in `versions`. */
  function parseStored(collection: string, changes: Changes): Map<string, unknown> {
    const known = versions.get(collection) ?? new Map<string, number>();
    versions.set(collection, known);
    const values = new Map<string, unknown>();
    for (const [key, record] of changes) {
      if (isVersioned(record)) known.set(key, record.version);
      else if (record === undefined) known.delete(key);
      if (record === undefined) values.set(key, undefined);
      else if (isObject(record) && "value" in record) values.set(key, record["value"]);
    }
    return values;
  }

  function report(collection: string, changes: Changes): void {
    for (const listener of [...listeners])
      if (listener.collection === collection)
        listener.report(
          new Map([...changes].map(([key, value]) => [key, value === undefined ? value : toJSON(value)])),
        );
  }
}

/**
 * Returns a copy of a value, as its JSON.
 *
 * @throws {TypeError} for a value without JSON
 */
function toJSON(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a record needs JSON, and a ${typeof value} has none`);
  return JSON.parse(text);
}

/** Converts the null of a removed record to undefined. */
function toValue(value: unknown): unknown {
  return value === null ? undefined : value;
}

function isVersioned(record: unknown): record is Versioned {
  return isObject(record) && typeof record["version"] === "number" && "value" in record;
}

function parseEntry(id: string, entry: unknown): OutboxEntry | undefined {
  if (!isObject(entry)) return undefined;
  const { collection, key, value = null, base, at, account } = entry;
  if (!isText(collection) || !isText(key) || typeof base !== "number" || typeof at !== "number")
    return undefined;
  return { id, collection, key, value, base, at, ...(isText(account) && { account }) };
}

/** Returns true for a key that the server stores. Keys that begin with a slash hold state of this device. */
function isKey(key: string): boolean {
  return !key.startsWith("/") && isStorable(key);
}

/** Returns true for an id that the server can store. */
export function isStorable(id: string): boolean {
  return id !== "" && id.length <= 256 && !/[\0\p{Surrogate}]/u.test(id);
}

/** @throws {ConfigurationError} for an id that the server can't store */
export function assertStorable(id: string, kind: string): void {
  if (isStorable(id)) return;
  throw new ConfigurationError(
    `${kind}: ${JSON.stringify(id.slice(0, 40))} can't be an id: it must have 1 to 256 characters, without NUL and lone surrogates`,
  );
}

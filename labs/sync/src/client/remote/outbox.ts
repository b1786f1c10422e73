import type { Client, RecordStorage } from "@sluice/core";
import { isRecord, parseJSON } from "@sluice/core/extend";
import { addUserPrefix, hasLocks, withLock } from "@sluice/stores/extend";
import { CONVERSATIONS, outboxNameOf } from "./place.js";

/** A change that the server does not have yet. */
export interface OutboxEntry {
  /** The record; undefined for a removal. */
  readonly value: unknown;
  /** Version of the record that the change knows. */
  readonly seen: number;
  /** Record that the change stands on. It is kept in the list of conversations, whose fields are joined. */
  readonly base?: unknown;
  /** True for a copy of all that is here, which the server may have: only memory knows it. */
  readonly isCopy?: boolean;
  /** Reason why the server does not take it. It is sent again after the next change, or the next reload. */
  readonly refusal?: Error;
}

/** The changes of one page that the server does not have yet. They are kept in the local storage until it has them. */
export interface Outbox {
  /** Changes of a collection, by key. */
  of(collection: string): ReadonlyMap<string, OutboxEntry>;
  readonly collections: Iterable<string>;
  /** Puts changes in the place of earlier ones. Resolves when they are kept. */
  put(collection: string, entries: ReadonlyMap<string, OutboxEntry>): Promise<void>;
  /** Notes why an entry is not taken. Not kept: a reload tries again. */
  refuse(collection: string, key: string, refusal: Error): void;
  /** Notes that a change stands on a version of the record. */
  raise(collection: string, key: string, seen: number): void;
  /** Removes changes that are sent, unless there are newer ones. */
  sent(collection: string, entries: ReadonlyMap<string, OutboxEntry>): Promise<void>;
  /** Forgets the changes of a collection. */
  clear(collection: string): Promise<void>;
  /** Forgets all, in memory alone. */
  reset(): void;
  /** Takes the changes of pages that were closed, now and from now on. */
  adopt(): Promise<void>;
}

/** Parts that an outbox needs. */
interface OutboxOptions {
  readonly client: Client;
  readonly local: RecordStorage;
  readonly device: string;
  /** Joins the change of a closed page with one of this page. */
  readonly join: (collection: string, key: string, mine: unknown, theirs: unknown) => unknown;
  /** Called with the changes of a closed page, by collection, once they are those of this page. */
  readonly onAdopted: (taken: ReadonlyMap<string, ReadonlyMap<string, OutboxEntry>>) => void;
}

/**
 * Creates the outbox of a page. Each page writes records of its own, and sends them; a page that holds its lock is open.
 */
export function createOutbox({ client, local, device, join, onAdopted }: OutboxOptions): Outbox {
  const name = outboxNameOf(client);
  const all = new Map<string, Map<string, OutboxEntry>>();
  /** Pages whose end is waited for. */
  const watched = new Set<string>([device]);
  /** Lets go of the lock that shows other tabs that this page is open. */
  let leave: (() => void) | undefined;
  const always = new AbortController().signal;
  return {
    of: (collection) => all.get(collection) ?? none,
    get collections() {
      return all.keys();
    },
    put,
    refuse(collection, key, refusal) {
      const entry = all.get(collection)?.get(key);
      if (entry) all.get(collection)?.set(key, { ...entry, refusal });
    },
    raise(collection, key, seen) {
      const entry = all.get(collection)?.get(key);
      if (entry && entry.seen < seen) all.get(collection)?.set(key, { ...entry, seen });
    },
    sent(collection, entries) {
      const known = all.get(collection);
      const gone = [...entries].flatMap(([key, entry]) => (known?.get(key) === entry ? key : []));
      return forget(collection, gone);
    },
    clear: (collection) => forget(collection, [...(all.get(collection)?.keys() ?? [])]),
    reset() {
      all.clear();
      leave?.();
    },
    async adopt() {
      // where tabs can't see each other's locks, only what was there before is of closed pages
      local.watch(name, (records) => hasLocks() && watchPages(records));
      watchPages(await local.read(name));
    },
  };

  async function put(collection: string, entries: ReadonlyMap<string, OutboxEntry>): Promise<void> {
    if (entries.size === 0) return;
    showOpen();
    const own = all.get(collection) ?? new Map<string, OutboxEntry>();
    all.set(collection, own);
    for (const [key, entry] of entries) own.set(key, entry);
    await local.write(
      name,
      new Map(
        [...entries].map(([key, { value = null, seen, base }]) => [
          nameOf(device, collection, key),
          { value, seen, ...(collection === CONVERSATIONS && base !== undefined && { base }) },
        ]),
      ),
    );
  }

  async function forget(collection: string, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const own = all.get(collection);
    for (const key of keys) own?.delete(key);
    if (own?.size === 0) all.delete(collection);
    const names = keys.map((key) => [nameOf(device, collection, key), undefined] as const);
    // what stays there is sent once more by a later page, and taken as it is
    await local.write(name, new Map(names)).catch(() => {});
    if (all.size === 0) leave?.();
  }

  /** Holds a lock while there is something to send, so that no other tab takes it over. */
  function showOpen(): void {
    if (leave) return;
    const left = new Promise<void>((resolve) => {
      leave = () => {
        leave = undefined;
        resolve();
      };
    });
    withLock(client, lockOf(device), always, () => left).catch(() => {});
  }

  /** Waits for the end of the pages that have something to send. */
  function watchPages(records: ReadonlyMap<string, unknown>): void {
    for (const [key, record] of records) {
      const [page] = partsOf(key) ?? [];
      if (page === undefined || record === undefined || watched.has(page)) continue;
      watched.add(page);
      withLock(client, lockOf(page), always, () => takeOver(page))
        .catch(() => {})
        .finally(() => watched.delete(page));
    }
  }

  /** Makes the changes of a closed page those of this page. */
  async function takeOver(page: string): Promise<void> {
    const taken = new Map<string, Map<string, OutboxEntry>>();
    const left: string[] = [];
    for (const [place, record] of await local.read(name)) {
      const [of, collection = "", key = ""] = partsOf(place) ?? [];
      if (of !== page) continue;
      left.push(place);
      const entry = entryIn(record);
      const entries = taken.get(collection) ?? new Map<string, OutboxEntry>();
      if (entry) taken.set(collection, entries.set(key, withOwn(collection, key, entry)));
    }
    for (const [collection, entries] of taken) await put(collection, entries);
    await local.write(name, new Map(left.map((key) => [key, undefined])));
    if (taken.size > 0) onAdopted(taken);
  }

  function withOwn(collection: string, key: string, entry: OutboxEntry): OutboxEntry {
    const own = all.get(collection)?.get(key);
    if (!own) return entry;
    return {
      value: join(collection, key, own.value, entry.value),
      seen: Math.min(own.seen, entry.seen),
      // what the closed page changed came first
      base: entry.base,
    };
  }

  function lockOf(page: string): string {
    return addUserPrefix(client, `sluice/remote/${page}`);
  }
}

const none: ReadonlyMap<string, OutboxEntry> = new Map();

/** Name of a record. JSON, because any text may be a collection or a key. */
function nameOf(device: string, collection: string, key: string): string {
  return JSON.stringify([device, collection, key]);
}

function partsOf(name: string): [string, string, string] | undefined {
  const parts = parseJSON(name);
  return Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === "string")
    ? (parts as [string, string, string])
    : undefined;
}

function entryIn(record: unknown): OutboxEntry | undefined {
  if (!isRecord(record)) return undefined;
  const { value = null, seen, base } = record;
  return { value: value ?? undefined, seen: Number.isSafeInteger(seen) ? (seen as number) : 0, base };
}

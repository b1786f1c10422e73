import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { awaitWithin, createFingerprint } from "@sluice/core/internal";
import type { BatchItem, BatchItemState } from "./item.js";
import { type BatchRecord, errorOf, recordIn, shownStates } from "./records.js";
import type { Listed } from "./request.js";
import type { BatchUsage } from "./state.js";
import { withResult } from "./usage.js";

/** Longest time for one answer of the storage, in milliseconds. */
const STORAGE_MS = 30_000;

/** A request with what is known of it. */
export interface Entry extends Listed {
  readonly fingerprint: string;
  record: BatchRecord | undefined;
  /** Error of this page's own attempt. */
  error?: Error | undefined;
  /** True while the run works on it. */
  isBusy: boolean;
}

/** Writes records: that of the storage, or of a lock. */
export type Write = RecordStorage["write"];

/** The requests of a batch and their records. Counts are kept as running sums: a step costs the same in any batch. */
export interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly counts: Readonly<Record<BatchItemState, number>>;
  readonly usage: Readonly<Record<string, BatchUsage>>;
  /** Reads the records of a list, which replaces the list before. */
  read(list: readonly Listed[]): Promise<void>;
  /** Changes a record in the storage, and then here: before a request is sent. */
  claim(entry: Entry, change: Partial<BatchRecord>, write: Write): Promise<void>;
  /** Changes a record here and in the storage. It stays changed here if the storage fails. */
  save(entry: Entry, change: Partial<BatchRecord>, write?: Write): Promise<void>;
  /** Writes again what a storage has not taken. */
  saveRest(write: Write): Promise<void>;
  /** Takes over records that others have written. Returns the entries that have changed. */
  adopt(records: ReadonlyMap<string, unknown>, isRunning: boolean): Entry[];
  /** Forgets all records. */
  forget(): void;
}

/** Creates the ledger of one batch. `onChange` is called after each change. */
export function createLedger(
  client: Client,
  storage: RecordStorage,
  collection: string,
  onChange: () => void,
): Ledger {
  let entries = new Map<string, Entry>();
  let counts = noCounts();
  let usage: Record<string, BatchUsage> = {};
  const unsaved = new Set<Entry>();

  return {
    get entries() {
      return entries;
    },
    get counts() {
      return counts;
    },
    get usage() {
      return usage;
    },
    read,
    async claim(entry, changes, write) {
      const record = changed(entry, changes);
      await put(entry, record, write);
      change(entry, record);
      onChange();
    },
    async save(entry, changes, write = storage.write) {
      change(entry, changed(entry, changes));
      onChange();
      unsaved.add(entry);
      await put(entry, entry.record, write);
      unsaved.delete(entry);
    },
    async saveRest(write) {
      for (const entry of unsaved) {
        await put(entry, entry.record, write);
        unsaved.delete(entry);
      }
    },
    adopt,
    forget() {
      unsaved.clear();
      replace([...entries.values()], new Map());
    },
  };

  async function read(list: readonly Listed[]): Promise<void> {
    const records = await awaitWithin(client.clock, STORAGE_MS, storage.read(collection), "the storage");
    replace(list, records);
  }

  function replace(list: readonly Listed[], records: ReadonlyMap<string, unknown>): void {
    const before = entries;
    entries = new Map();
    counts = noCounts();
    usage = {};
    for (const listed of list) {
      const { id, kind, request } = listed;
      const fingerprint = createFingerprint({ [kind]: request }) ?? "";
      const entry: Entry = { ...listed, fingerprint, record: undefined, isBusy: false };
      entries.set(id, entry);
      counts.waiting += 1;
      // what the storage has not taken is known here alone
      const known = before.get(id);
      const isUnsaved = known !== undefined && unsaved.delete(known);
      if (isUnsaved) unsaved.add(entry);
      if (isUnsaved) change(entry, known.record);
      else if (records.has(id)) change(entry, recordIn(records.get(id), fingerprint));
    }
    onChange();
  }

  function changed({ fingerprint, record }: Entry, changes: Partial<BatchRecord>): BatchRecord {
    return { state: "waiting", ...record, ...changes, fingerprint, rev: (record?.rev ?? 0) + 1 };
  }

  async function put({ id }: Entry, record: BatchRecord | undefined, write: Write): Promise<void> {
    const writing = write(collection, new Map([[id, record]]));
    await awaitWithin(client.clock, STORAGE_MS, writing, "the storage");
  }

  function adopt(records: ReadonlyMap<string, unknown>, isRunning: boolean): Entry[] {
    const changed: Entry[] = [];
    for (const [id, value] of records) {
      const entry = entries.get(id);
      if (!entry || entry.isBusy || value === undefined) continue;
      const record = recordIn(value, entry.fingerprint);
      // the run alone knows what it works on; others may only decide about what it has left
      if (record.rev <= (entry.record?.rev ?? 0) || (isRunning && !isLeft(entry))) continue;
      change(entry, record);
      changed.push(entry);
    }
    if (changed.length > 0) onChange();
    return changed;
  }

  function change(entry: Entry, record: BatchRecord | undefined): void {
    const before = entry.record;
    counts[stateOf(entry)] -= 1;
    entry.record = record;
    if (!record?.error) entry.error = undefined;
    counts[stateOf(entry)] += 1;
    if (!record?.result || before?.result) return;
    const { model } = entry.request;
    usage = { ...usage, [model]: withResult(usage[model], entry.kind, record.result) };
  }
}

/** Returns true for a request that waits for the user's decision. */
export function isLeft({ record }: Entry): boolean {
  return record?.state === "failed" || record?.state === "unconfirmed";
}

/** Returns the state that a user sees. */
export function stateOf({ record }: Entry): BatchItemState {
  return record ? shownStates[record.state] : "waiting";
}

/** Returns an entry as a user sees it. */
export function itemOf(entry: Entry): BatchItem {
  const { id, kind, record } = entry;
  const error = entry.error ?? (record?.error && errorOf(record.error));
  return {
    id,
    kind,
    model: entry.request.model,
    state: stateOf(entry),
    ...(record?.result && { result: record.result }),
    ...(error && { error }),
    ...(record?.handle && { handle: record.handle }),
  };
}

/**
 * Compares the list with the ledger.
 *
 * @throws {ConfigurationError} that names the requests which have changed since they were sent
 */
export function assertSameRequests(entries: Iterable<Entry>): void {
  const changed = [...entries].filter(hasChanged).map(({ id }) => id);
  if (changed.length === 0) return;
  const names = changed.slice(0, 5).join(", ") + (changed.length > 5 ? ", …" : "");
  throw new ConfigurationError(
    `requests: ${changed.length} have changed since this batch began (${names}), and nothing was sent. Give a changed ` +
      "request a new id, or the batch a new one; a list that may change needs an `id` for each request",
  );
}

function hasChanged({ record, fingerprint }: Entry): boolean {
  if (!record || record.fingerprint === fingerprint) return false;
  // a request that cost nothing may be mended
  const { state, open, error } = record;
  const isFree = state === "failed" && error?.billing === "none";
  return !(isFree || (state === "waiting" && !open));
}

const noCounts = () => ({ waiting: 0, running: 0, done: 0, failed: 0, unconfirmed: 0 });

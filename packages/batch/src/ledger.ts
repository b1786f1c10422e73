import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { awaitWithin, hashToId } from "@sluice/core/extend";
import type { BatchItem, BatchItemState } from "./item.js";
import { type BatchRecord, parseRecord, restoreError, shownStates } from "./records.js";
import type { ListedRequest } from "./request.js";

/** Timeout of a storage operation, in milliseconds. */
const STORAGE_MS = 30_000;

/** A request with its record. */
export interface Entry extends ListedRequest {
  readonly fingerprint: string;
  record: BatchRecord | undefined;
  /** Error of this page's attempt. */
  error?: Error | undefined;
  /** True while the run works on it. */
  isBusy: boolean;
}

/** Writes records: `write` of the storage or of a lock. */
export type Write = RecordStorage["write"];

/**
 * The requests of a batch and their records. Counts are running sums, so a step costs the same in a batch of any size.
 */
export interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly counts: Readonly<Record<BatchItemState, number>>;
  /** Reads the records of a list, which replaces the previous list. */
  read(list: readonly ListedRequest[]): Promise<void>;
  /** Changes a record in the storage, then in memory. Used before a request is sent. */
  claim(entry: Entry, change: Partial<BatchRecord>, write: Write): Promise<void>;
  /** Changes a record in memory, then in the storage. The change stays in memory if the storage fails. */
  save(entry: Entry, change: Partial<BatchRecord>, write?: Write): Promise<void>;
  /** Retries the failed writes. */
  saveUnsaved(write: Write): Promise<void>;
  /** Merges newer records of other tabs or processes. Returns the changed entries. */
  mergeRecords(records: ReadonlyMap<string, unknown>, isRunning: boolean): Entry[];
  /** Drops all records. */
  forget(): void;
}

/** Creates the ledger of a batch. `onChange` runs after each change. */
export function createLedger(
  client: Client,
  storage: RecordStorage,
  collection: string,
  onChange: () => void,
): Ledger {
  let entries = new Map<string, Entry>();
  let counts = createCounts();
  const unsaved = new Set<Entry>();

  return {
    get entries() {
      return entries;
    },
    get counts() {
      return counts;
    },
    read,
    async claim(entry, changes, write) {
      const record = mergeChanges(entry, changes);
      await writeRecord(entry, record, write);
      setRecord(entry, record);
      onChange();
    },
    async save(entry, changes, write = storage.write) {
      setRecord(entry, mergeChanges(entry, changes));
      onChange();
      unsaved.add(entry);
      await writeRecord(entry, entry.record, write);
      unsaved.delete(entry);
    },
    async saveUnsaved(write) {
      for (const entry of unsaved) {
        await writeRecord(entry, entry.record, write);
        unsaved.delete(entry);
      }
    },
    mergeRecords,
    forget() {
      unsaved.clear();
      replaceEntries([...entries.values()], new Map());
    },
  };

  async function read(list: readonly ListedRequest[]): Promise<void> {
    const records = await awaitWithin(client.clock, STORAGE_MS, storage.read(collection), "the storage");
    replaceEntries(list, records);
  }

  function replaceEntries(list: readonly ListedRequest[], records: ReadonlyMap<string, unknown>): void {
    const previous = entries;
    entries = new Map();
    counts = createCounts();
    for (const listed of list) {
      const { id, kind, request } = listed;
      const fingerprint = hashToId({ [kind]: request });
      const entry: Entry = { ...listed, fingerprint, record: undefined, isBusy: false };
      entries.set(id, entry);
      counts.waiting += 1;
      // an unsaved record exists only in memory
      const known = previous.get(id);
      const isUnsaved = known !== undefined && unsaved.delete(known);
      if (isUnsaved) unsaved.add(entry);
      if (isUnsaved) setRecord(entry, known.record);
      else if (records.has(id)) setRecord(entry, parseRecord(records.get(id), fingerprint));
    }
    onChange();
  }

  function mergeChanges({ fingerprint, record }: Entry, changes: Partial<BatchRecord>): BatchRecord {
    return { state: "waiting", ...record, ...changes, fingerprint, rev: (record?.rev ?? 0) + 1 };
  }

  async function writeRecord({ id }: Entry, record: BatchRecord | undefined, write: Write): Promise<void> {
    const writing = write(collection, new Map([[id, record]]));
    await awaitWithin(client.clock, STORAGE_MS, writing, "the storage");
  }

  function mergeRecords(records: ReadonlyMap<string, unknown>, isRunning: boolean): Entry[] {
    const changed: Entry[] = [];
    for (const [id, value] of records) {
      const entry = entries.get(id);
      if (!entry || entry.isBusy || value === undefined) continue;
      const record = parseRecord(value, entry.fingerprint);
      // only the run changes the requests that it works on. Others may only decide about unresolved requests
      if (record.rev <= (entry.record?.rev ?? 0) || (isRunning && !isUnresolved(entry))) continue;
      setRecord(entry, record);
      changed.push(entry);
    }
    if (changed.length > 0) onChange();
    return changed;
  }

  function setRecord(entry: Entry, record: BatchRecord | undefined): void {
    counts[getState(entry)] -= 1;
    entry.record = record;
    if (!record?.error) entry.error = undefined;
    counts[getState(entry)] += 1;
  }
}

/** Returns true for a request that waits for the user's decision. */
export function isUnresolved({ record }: Entry): boolean {
  return record?.state === "failed" || record?.state === "unconfirmed";
}

/** Returns the state for the user. */
export function getState({ record }: Entry): BatchItemState {
  return record ? shownStates[record.state] : "waiting";
}

/** Converts an entry to the item for the user. */
export function toItem(entry: Entry): BatchItem {
  const { id, kind, record } = entry;
  const error = entry.error ?? (record?.error && restoreError(record.error));
  return {
    id,
    kind,
    model: entry.request.model,
    state: getState(entry),
    ...(record?.result && { result: record.result }),
    ...(error && { error }),
    ...(record?.handle && { handle: record.handle }),
  };
}

/**
 * Checks the list against the ledger.
 *
 * @throws {ConfigurationError} that names the requests that changed after they were sent
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
  const { state, open, error } = record;
  // a request may change as long as it cost nothing; an open record has an attempt that may have been billed
  const isUnbilled = state === "failed" && error?.billing === "none";
  const isReady = state === "waiting" && !open;
  return !isUnbilled && !isReady;
}

const createCounts = () => ({ waiting: 0, running: 0, done: 0, failed: 0, unconfirmed: 0 });

import type { Client, RecordStorage, Store } from "@sluice/core";
import { createStore, reportStorageFailure } from "@sluice/core/internal";
import { webStorage } from "@sluice/stores";
import { createRecordWriter, onForget, readWhenPossible, storageOf } from "@sluice/stores/internal";

/** Snapshot of a draft. */
export interface DraftState<Value> {
  /** The draft as it stands; the initial value until the storage was read. */
  readonly value: Value;
  /** True until the storage was read, for at most 3 s. A value that is set meanwhile stays. */
  readonly isRestoring: boolean;
}

/** Store of one draft, shared by the components that show it. */
export interface DraftStore<Value> extends Store<DraftState<Value>> {
  /** Replaces the value. It is written soon. */
  readonly set: (change: Value | ((value: Value) => Value)) => void;
  /** Goes back to the initial value, and removes the record. */
  readonly clear: () => void;
}

/** Options of {@link createDraftStore}. */
export interface DraftStoreOptions<Value> {
  readonly key: string;
  readonly initial: Value;
  readonly storage: RecordStorage;
  readonly parse: (stored: unknown) => Value | undefined;
}

const COLLECTION = "drafts";
/** Time from a change to its write, in milliseconds. */
const WRITE_MS = 400;

/** Creates the store of one draft. It reads its record when it is shown for the first time. */
export function createDraftStore<Value>(
  client: Client,
  { key, initial, storage: given, parse }: DraftStoreOptions<Value>,
): DraftStore<Value> {
  const { clock } = client;
  const storage = storageOf(client, given);
  let value = initial;
  let isRestoring = true;
  let isTouched = false;
  let isRead = false;
  let scheduled: AbortController | undefined;
  const writer = createRecordWriter({
    client,
    storage,
    collection: COLLECTION,
    recordOf: () => (value === initial ? undefined : value),
    onFailure: report,
  });
  const store = createStore<DraftState<Value>>(() => ({ value, isRestoring }), {
    clock,
    onUse() {
      void restore();
      const leaving = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", writeNow, { signal: leaving.signal });
      return () => {
        leaving.abort();
        writeNow();
      };
    },
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, set, clear };

  function set(change: Value | ((value: Value) => Value)): void {
    value = typeof change === "function" ? (change as (value: Value) => Value)(value) : change;
    isTouched = true;
    store.flush();
    if (scheduled) return;
    scheduled = new AbortController();
    // after the writes before: who types goes on while a storage does not answer
    clock.sleep(WRITE_MS, scheduled.signal).then(
      () => {
        markScheduled();
        void writer.write();
      },
      () => {},
    );
  }

  function clear(): void {
    set(initial);
    // at once: the app may leave the page in the next line
    writeNow();
  }

  /** Writes what is scheduled or due, without waiting for writes before. */
  function writeNow(): void {
    markScheduled();
    if (writer.due.size > 0) writer.leave();
  }

  function markScheduled(): void {
    if (!scheduled) return;
    scheduled.abort();
    scheduled = undefined;
    writer.mark(key);
  }

  async function restore(): Promise<void> {
    if (isRead) return;
    isRead = true;
    // the draft lives as long as its client
    onForget(client, clear);
    await readWhenPossible(client, () => storage.read(COLLECTION), take, report);
    isRestoring = false;
    store.flush();
  }

  function take(records: ReadonlyMap<string, unknown>): void {
    const stored = records.get(key);
    if (!isTouched && stored !== undefined) value = parse(stored) ?? initial;
    store.flush();
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}

let local: RecordStorage | undefined;

/** The storage of drafts that name none. Its writes are done when they return, also in a page that is being left. */
export function localDrafts(): RecordStorage {
  local ??= webStorage(() => localStorage);
  return local;
}

const stores = new WeakMap<Client, WeakMap<RecordStorage, Map<string, unknown>>>();

/** The store of a draft: one for all components that show it. On a server each gets its own. */
export function draftStoreOf<Value>(client: Client, options: DraftStoreOptions<Value>): DraftStore<Value> {
  if (typeof window === "undefined") return createDraftStore(client, options);
  const { storage, key } = options;
  const ofClient = stores.get(client) ?? new WeakMap<RecordStorage, Map<string, unknown>>();
  stores.set(client, ofClient);
  const ofStorage = ofClient.get(storage) ?? new Map<string, unknown>();
  ofClient.set(storage, ofStorage);
  // a key stands for one type of draft
  const store = (ofStorage.get(key) as DraftStore<Value> | undefined) ?? createDraftStore(client, options);
  ofStorage.set(key, store);
  return store;
}

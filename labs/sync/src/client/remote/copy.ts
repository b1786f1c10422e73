import type { RecordStorage } from "@sluice/core";
import { isolate } from "@sluice/core/extend";
import { parseRecords, stringifyRecords } from "@sluice/stores/extend";

type Records = ReadonlyMap<string, unknown>;
export type Listener = (changes: Records) => void;

/** The part of a copy that the session of its collection has, too. */
export interface CopyPart {
  /** Number of watchers. The copy is in memory while there are any. */
  readonly watchers: () => number;
  /**
   * Reads the local storage. The first time, for all parts of the page together: a later read may be made under a lock whose
   * last holder has written something of which no notice has come yet.
   */
  read(): Promise<Records>;
  /** Returns the records as they are now, after the first read. */
  load(): Promise<Records>;
  /** Changes records in memory and in the local storage, and notifies the watchers. */
  keep(changes: Records): Promise<void>;
  /** Shows records that another device passes. Nothing is kept. */
  show(records: Records): void;
  /** Takes back what was passed before a read, and is not among what was read: it was removed meanwhile. */
  forgetPassed(): Promise<void>;
}

/** Copy of a collection: in the local storage, and in memory while it is watched. */
export interface Copy extends CopyPart {
  readonly part: CopyPart;
  /** Calls `listener` with changes. Returns a function that ends this. */
  subscribe(listener: Listener): () => void;
  notify(changes: Records): void;
  /** Returns the record in memory; undefined where there is none. */
  get(key: string): unknown;
  has(key: string): boolean;
  /** True for a record that watchers were shown: one in memory, or one that was passed. */
  isShown(key: string): boolean;
  /** Changes a record in memory. */
  set(key: string, value: unknown): void;
  /** Writes records into the local storage alone. */
  store(changes: Records): Promise<void>;
  /** True while a write of a record into the local storage is on its way: one of another tab may come before or after it. */
  isStoring(key: string): boolean;
  /** Forgets what is in memory. */
  forget(): void;
}

/** Creates the copy of one collection. Nothing is read before `load`. */
export function createCopy(local: RecordStorage, name: string): Copy {
  const listeners = new Set<Listener>();
  let records = new Map<string, unknown>();
  /** Keys that have changed since the copy was begun: what is read of them is older. */
  let changed = new Set<string>();
  /** Numbers of writes on their way, by key. */
  const storing = new Map<string, number>();
  /** Keys of records that were passed, and that have not come yet. */
  const passed = new Set<string>();
  let loading: Promise<Records> | undefined;
  let wasRead = false;
  const part: CopyPart = { watchers: () => listeners.size, read, load, keep, show, forgetPassed };
  return {
    ...part,
    part,
    subscribe(listener) {
      // wrapped: a listener that is added twice is called twice
      const entry: Listener = (changes) => listener(changes);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    notify,
    get: (key) => records.get(key),
    has: (key) => records.has(key),
    isShown: (key) => records.has(key) || passed.has(key),
    set,
    store,
    isStoring: (key) => storing.has(key),
    forget() {
      records = new Map();
      passed.clear();
      changed = new Set();
      loading = undefined;
      wasRead = false;
    },
  };

  async function read(): Promise<Records> {
    if (wasRead || listeners.size === 0) return local.read(name);
    wasRead = true;
    return new Map(await load());
  }

  async function keep(changes: Records): Promise<void> {
    for (const [key, value] of changes) set(key, value);
    notify(changes);
    await store(changes);
  }

  function show(shown: Records): void {
    for (const key of shown.keys()) if (!records.has(key)) passed.add(key);
    notify(shown);
  }

  async function forgetPassed(): Promise<void> {
    await keep(new Map([...passed].map((key) => [key, undefined])));
  }

  async function store(changes: Records): Promise<void> {
    if (changes.size === 0) return;
    for (const key of changes.keys()) storing.set(key, (storing.get(key) ?? 0) + 1);
    try {
      await local.write(name, changes);
    } finally {
      for (const key of changes.keys()) {
        const others = (storing.get(key) ?? 1) - 1;
        if (others > 0) storing.set(key, others);
        else storing.delete(key);
      }
    }
  }

  function load(): Promise<Records> {
    loading ??= fill();
    loading.then(
      () => {
        wasRead = true;
      },
      () => {
        loading = undefined;
      },
    );
    return loading;
  }

  async function fill(): Promise<Records> {
    const copy = records;
    const stored = await local.read(name);
    for (const [key, value] of stored) if (!changed.has(key)) copy.set(key, value);
    return copy;
  }

  function set(key: string, value: unknown): void {
    if (listeners.size === 0) return;
    changed.add(key);
    passed.delete(key);
    if (value === undefined) records.delete(key);
    else records.set(key, value);
  }

  function notify(changes: Records): void {
    if (changes.size === 0) return;
    for (const listener of [...listeners])
      if (listeners.has(listener)) isolate(() => listener(parseRecords(stringifyRecords(changes))));
  }
}

import { isolate } from "@sluice/core/extend";

/** Changes as they are stored and broadcast: the JSON of each record, or `null` for a removed record. */
export type RecordTexts = ReadonlyMap<string, string | null>;

/** Writes records as JSON. Throws a `TypeError` for a value without JSON, before anything is stored. */
export function stringifyRecords(records: ReadonlyMap<string, unknown>): RecordTexts {
  const texts = new Map<string, string | null>();
  for (const [key, record] of records) {
    const text = record === undefined ? null : JSON.stringify(record);
    // JSON ignores functions and symbols; without this check the record would be removed
    if (text === undefined)
      throw new TypeError(`${key}: a record needs JSON, and a ${typeof record} has none`);
    texts.set(key, text);
  }
  return texts;
}

/**
 * Parses records from JSON. Omits invalid records, because any script of the origin may write to a storage.
 */
export function parseRecords(texts: Iterable<readonly [key: string, text: unknown]>): Map<string, unknown> {
  const records = new Map<string, unknown>();
  for (const [key, text] of texts) {
    try {
      records.set(key, text === null ? undefined : JSON.parse(text as string));
    } catch {}
  }
  return records;
}

/** Creates an empty table: texts of collections in memory, with their watchers. */
export function createTextTable() {
  const collections = new Map<string, Map<string, string>>();
  const watchers = new Set<(collection: string, texts: RecordTexts) => void>();
  return {
    read: (collection: string) => parseRecords(collections.get(collection) ?? []),
    /** Changes texts, and reports them to the watchers of the collection. */
    change(collection: string, texts: RecordTexts): void {
      const stored = collections.get(collection) ?? new Map<string, string>();
      collections.set(collection, stored);
      for (const [key, text] of texts)
        if (text === null) stored.delete(key);
        else stored.set(key, text);
      // in a microtask, because a watcher may write, too
      queueMicrotask(() => {
        for (const notify of watchers) isolate(() => notify(collection, texts));
      });
    },
    /** Lists the changes that remove a collection and the collections below it. */
    listRemovals: (collection: string) =>
      [...collections].flatMap(([name, stored]) =>
        stored.size > 0 && (name === collection || name.startsWith(`${collection}/`))
          ? [[name, new Map([...stored.keys()].map((key) => [key, null] as const))] as const]
          : [],
      ),
    subscribe(collection: string, listener: (changes: ReadonlyMap<string, unknown>) => void): () => void {
      const notify = (written: string, texts: RecordTexts) => {
        if (written === collection) listener(parseRecords(texts));
      };
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
    isWatched: () => watchers.size > 0,
  };
}

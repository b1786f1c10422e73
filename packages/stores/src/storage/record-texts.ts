/** Changes as they are stored and broadcast: the JSON of each record, or `null` for a removed record. */
export type RecordTexts = ReadonlyMap<string, string | null>;

/** Returns true if `name` equals the collection's name, or begins with it and a slash. */
export function isWithin(collection: string, name: string): boolean {
  return name === collection || name.startsWith(`${collection}/`);
}

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

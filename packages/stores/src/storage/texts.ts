/** Changes in the form that is stored and posted: the JSON of each record, or `null` for a removed one. */
export type RecordTexts = ReadonlyMap<string, string | null>;

/** Returns true if `name` is that of a collection, or begins with it and a slash. */
export function isWithin(collection: string, name: string): boolean {
  return name === collection || name.startsWith(`${collection}/`);
}

/** Writes records as JSON. Throws a `TypeError` for a value without JSON, before anything is stored. */
export function textsOf(records: ReadonlyMap<string, unknown>): RecordTexts {
  const texts = new Map<string, string | null>();
  for (const [key, record] of records) {
    const text = record === undefined ? null : JSON.stringify(record);
    // JSON ignores a function or a symbol: unchecked, it would remove the record
    if (text === undefined)
      throw new TypeError(`${key}: a record needs JSON, and a ${typeof record} has none`);
    texts.set(key, text);
  }
  return texts;
}

/** Reads records from JSON. Leaves out broken ones, because any script of the origin may write to a storage. */
export function recordsOf(texts: Iterable<readonly [key: string, text: unknown]>): Map<string, unknown> {
  const records = new Map<string, unknown>();
  for (const [key, text] of texts) {
    try {
      records.set(key, text === null ? undefined : JSON.parse(text as string));
    } catch {}
  }
  return records;
}

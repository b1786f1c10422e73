/** Changes as they are kept and sent: the JSON of each record, `null` for one that goes. */
export type RecordTexts = ReadonlyMap<string, string | null>;

/** The texts of records. Throws a `TypeError` for what has no JSON, before anything of it is written. */
export function textsOf(records: ReadonlyMap<string, unknown>): RecordTexts {
  const texts = new Map<string, string | null>();
  for (const [key, record] of records) {
    const text = record === undefined ? null : JSON.stringify(record);
    // a function or a symbol is no error to JSON: taken as it is, it would remove the record
    if (text === undefined)
      throw new TypeError(`${key}: a record needs JSON, and a ${typeof record} has none`);
    texts.set(key, text);
  }
  return texts;
}

/** The records of texts; without those that are garbage, for a storage holds what anybody put there. */
export function recordsOf(texts: Iterable<readonly [key: string, text: unknown]>): Map<string, unknown> {
  const records = new Map<string, unknown>();
  for (const [key, text] of texts) {
    try {
      records.set(key, text === null ? undefined : JSON.parse(text as string));
    } catch {}
  }
  return records;
}

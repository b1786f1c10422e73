import type { Client, RecordStorage } from "@sluice/core";
import { reportStorageFailure } from "../base/platform-limits.js";
import { createRecordWriter } from "../storage/record-writer.js";
import type { ConversationRecord } from "./record.js";

/** Collection of the records of all conversations. */
export const COLLECTION = "conversations";

type Fields = { [Key in keyof ConversationRecord]?: ConversationRecord[Key] | undefined };

/** The records of all conversations, in memory and in the storage. */
export interface ConversationRecords {
  readonly all: ReadonlyMap<string, ConversationRecord>;
  add(id: string, record: Pick<ConversationRecord, "title" | "createdAt" | "updatedAt">): void;
  /** Changes fields of a conversation, if it has a record. `undefined` and `false` remove a field. */
  change(id: string, fields: Fields): void;
  /** Changes the same fields of many conversations with one notification and one write. */
  changeAll(ids: readonly string[], fields: Fields): void;
  /** Takes a record that another tab has written or removed. Returns false if the record here is newer. */
  take(id: string, record: ConversationRecord | undefined): boolean;
  remove(id: string): void;
  /** Forgets all records. Writes nothing. */
  clear(): void;
}

/** Creates the records of a client's conversations. `onChange` is called after each change that this page writes. */
export function createConversationRecords(
  client: Client,
  storage: RecordStorage,
  onChange: () => void,
): ConversationRecords {
  const all = new Map<string, ConversationRecord>();
  const writer = createRecordWriter({
    client,
    storage,
    collection: COLLECTION,
    createRecord: (id) => all.get(id),
    onFailure: (error) => reportStorageFailure(client, error),
  });
  return {
    all,
    add(id, record) {
      all.set(id, { ...record, revision: 1 });
      saveChange([id]);
    },
    change: (id, fields) => changeAll([id], fields),
    changeAll,
    take(id, record) {
      if (record && record.revision < (all.get(id)?.revision ?? 0)) return false;
      if (record) all.set(id, record);
      else all.delete(id);
      return true;
    },
    remove(id) {
      all.delete(id);
      saveChange([id]);
    },
    clear: () => all.clear(),
  };

  function changeAll(ids: readonly string[], fields: Fields): void {
    const known = ids.filter((id) => all.has(id));
    for (const id of known) {
      const record = all.get(id) as ConversationRecord;
      const entries = Object.entries({ ...record, ...fields, revision: record.revision + 1 });
      const present = entries.filter(([, value]) => value !== undefined && value !== false);
      all.set(id, Object.fromEntries(present) as unknown as ConversationRecord);
    }
    if (known.length > 0) saveChange(known);
  }

  function saveChange(ids: readonly string[]): void {
    onChange();
    for (const id of ids) writer.mark(id);
    void writer.write();
  }
}

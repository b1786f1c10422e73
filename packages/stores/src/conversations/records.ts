import type { Client, RecordStorage } from "@sluice/core";
import { reportStorageFailure } from "../base/platform-limits.js";
import { createRecordWriter } from "../storage/record-writer.js";
import type { ConversationStatus } from "./activity.js";

/** Collection of the records of all conversations. */
export const COLLECTION = "conversations";

type Fields = { [Key in keyof ConversationRecord]?: ConversationRecord[Key] | undefined };

/** The records of all conversations, in memory and in the storage. */
export type ConversationRecords = ReturnType<typeof createConversationRecords>;

/** Creates the records of a client's conversations. `onChange` is called after each change that this page writes. */
export function createConversationRecords(client: Client, storage: RecordStorage, onChange: () => void) {
  const all = new Map<string, ConversationRecord>();
  const writer = createRecordWriter({
    client,
    storage,
    collection: COLLECTION,
    createRecord: (id) => all.get(id),
    onFailure: (error) => reportStorageFailure(client, error),
  });
  return {
    all: all as ReadonlyMap<string, ConversationRecord>,
    add(id: string, record: Pick<ConversationRecord, "title" | "createdAt" | "updatedAt">): void {
      all.set(id, { ...record, revision: 1 });
      saveChange(id);
    },
    /** Changes fields of a conversation, if it has a record. `undefined` and `false` remove a field. */
    change(id: string, fields: Fields): void {
      const record = all.get(id);
      if (!record) return;
      const entries = Object.entries({ ...record, ...fields, revision: record.revision + 1 });
      const present = entries.filter(([, value]) => value !== undefined && value !== false);
      all.set(id, Object.fromEntries(present) as unknown as ConversationRecord);
      saveChange(id);
    },
    /** Merges a record that another tab has written or removed. Returns false if the record here is newer. */
    merge(id: string, record: ConversationRecord | undefined): boolean {
      if (record && record.revision < (all.get(id)?.revision ?? 0)) return false;
      if (record) all.set(id, record);
      else all.delete(id);
      return true;
    },
    remove(id: string): void {
      all.delete(id);
      saveChange(id);
    },
    /** Forgets all records. Writes nothing. */
    clear: () => all.clear(),
  };

  function saveChange(id: string): void {
    onChange();
    writer.mark(id);
    void writer.write();
  }
}

/** A conversation in the list. It stays the same object until a field changes. */
export interface Conversation {
  /** Id of the conversation, and of its chat: `id` of `useChatStream`. */
  readonly id: string;
  /** Title: the first question, until it is renamed. Empty for a question without text. */
  readonly title: string;
  /** Time of the first question; Unix milliseconds. */
  readonly createdAt: number;
  /** Time of the last question; Unix milliseconds. */
  readonly updatedAt: number;
  /** True for a conversation that stays at the top. */
  readonly isPinned: boolean;
  /** Status of its chat in this tab. */
  readonly status: ConversationStatus;
}

/** Stored fields of a conversation. The chat with the same id stores the messages. */
export interface ConversationRecord {
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly isPinned?: boolean;
  /** Time of the removal in Unix milliseconds, while the conversation can be restored. */
  readonly removedAt?: number;
  /** Number of changes, so that an older copy never wins. */
  readonly revision: number;
}

/** Parses a record; undefined for an invalid one, because any script of the origin may write to a storage. */
export function parseRecord(value: unknown): ConversationRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Record<string, unknown>;
  const { title, createdAt, updatedAt, isPinned, removedAt, revision } = record;
  if (typeof title !== "string" || !isTime(createdAt) || !isTime(updatedAt)) return undefined;
  return {
    title,
    createdAt,
    updatedAt,
    ...(isPinned === true && { isPinned }),
    ...(isTime(removedAt) && { removedAt }),
    revision: Number.isSafeInteger(revision) ? (revision as number) : 0,
  };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Maximum number of characters of a title. */
const MAX_TITLE_CHARACTERS = 60;

/** Creates the title from the first question: its first line with text, cut between two words. */
export function createDefaultTitle(question: string): string {
  const line = question
    .split("\n")
    .map((text) =>
      text
        .replace(/^[\s#>*`-]+/, "")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .find((text) => text !== "");
  const characters = [...(line ?? "")];
  if (characters.length <= MAX_TITLE_CHARACTERS) return characters.join("");
  const cut = characters.slice(0, MAX_TITLE_CHARACTERS - 1).join("");
  // a long last word is cut
  const words = cut.replace(/\s+\S*$/, "");
  return `${words.length > MAX_TITLE_CHARACTERS / 2 ? words : cut}…`;
}

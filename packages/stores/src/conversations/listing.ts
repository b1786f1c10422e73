import { isEqual } from "../base/is-equal.js";
import type { ConversationStatus } from "./activity.js";
import type { Conversation, ConversationRecord } from "./records.js";

/** Snapshot of the list. */
export interface ConversationListState {
  /** All conversations: pinned conversations first, then by the time of the last question, newest first. */
  readonly conversations: readonly Conversation[];
  /** Removed conversations that `restore` can bring back, last removed first. */
  readonly removed: readonly Conversation[];
  /** True until the storage is read, for at most 3 s. */
  readonly isRestoring: boolean;
}

/** Creates a function that lists the current records. A conversation stays the same object until it changes. */
export function createListing(
  records: ReadonlyMap<string, ConversationRecord>,
  getStatus: (id: string) => ConversationStatus,
  restoreMs: number,
): (isRestoring: boolean) => ConversationListState {
  let shown: ReadonlyMap<string, Conversation> = new Map();

  return (isRestoring) => {
    shown = new Map([...records].map(([id, record]) => [id, toConversation(id, record)]));
    return {
      conversations: list(
        ({ removedAt }) => removedAt === undefined,
        (a, b) => getPinRank(b) - getPinRank(a) || b.updatedAt - a.updatedAt,
      ),
      removed: list(
        ({ removedAt }) => removedAt !== undefined && removedAt + restoreMs > Date.now(),
        (a, b) => (b.removedAt ?? 0) - (a.removedAt ?? 0),
      ),
      isRestoring,
    };
  };

  function list(
    isListed: (record: ConversationRecord) => boolean,
    compare: (a: ConversationRecord, b: ConversationRecord) => number,
  ): Conversation[] {
    const listed = [...records].filter(([, record]) => isListed(record));
    return listed.sort(([, a], [, b]) => compare(a, b)).flatMap(([id]) => shown.get(id) ?? []);
  }

  function toConversation(id: string, record: ConversationRecord): Conversation {
    const { title, createdAt, updatedAt, isPinned = false } = record;
    const known = shown.get(id);
    const next: Conversation = { id, title, createdAt, updatedAt, isPinned, status: getStatus(id) };
    return known && isEqual(known, next) ? known : next;
  }
}

function getPinRank({ isPinned = false }: ConversationRecord): number {
  return Number(isPinned);
}

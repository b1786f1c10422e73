import type { ConversationStatus } from "./conversation-activity.js";
import type { Conversation, ConversationRecord } from "./conversation-record.js";

/** Snapshot of the list. */
export interface ConversationListState {
  /** All conversations: pinned ones first, and the one with the newest question first. */
  readonly conversations: readonly Conversation[];
  /** Removed conversations that `restore` still brings back, the last one first. */
  readonly removed: readonly Conversation[];
  /** True until the storage was read, for at most 3 s. */
  readonly isRestoring: boolean;
}

/** Returns a function that makes the list of the records as they stand. A conversation stays the same object until it changes. */
export function createListing(
  records: ReadonlyMap<string, ConversationRecord>,
  {
    statusOf,
    restoreMs,
  }: { readonly statusOf: (id: string) => ConversationStatus; readonly restoreMs: number },
): (isRestoring: boolean) => ConversationListState {
  const shown = new Map<string, Conversation>();

  return (isRestoring) => {
    for (const id of shown.keys()) if (!records.has(id)) shown.delete(id);
    const all = [...records].map(([id, record]) => ({ conversation: shownAs(id, record), ...record }));
    const conversations = all
      .filter(({ removedAt }) => removedAt === undefined)
      .map(({ conversation }) => conversation)
      .sort((a, b) => Number(b.isPinned) - Number(a.isPinned) || b.updatedAt - a.updatedAt);
    const removed = all
      .filter(({ removedAt = 0 }) => removedAt + restoreMs > Date.now())
      .sort((a, b) => (b.removedAt ?? 0) - (a.removedAt ?? 0))
      .map(({ conversation }) => conversation);
    return { conversations, removed, isRestoring };
  };

  function shownAs(id: string, record: ConversationRecord): Conversation {
    const { title, createdAt, updatedAt, isPinned = false } = record;
    const next: Conversation = { id, title, createdAt, updatedAt, isPinned, status: statusOf(id) };
    const known = shown.get(id);
    if (known && isSame(known, next)) return known;
    shown.set(id, next);
    return next;
  }
}

function isSame(one: Conversation, other: Conversation): boolean {
  return (Object.keys(one) as (keyof Conversation)[]).every((field) => one[field] === other[field]);
}

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

type Listed = ConversationRecord & { readonly conversation: Conversation };
const getPinRank = ({ conversation }: Listed) => Number(conversation.isPinned);
type Removed = Listed & { readonly removedAt: number };

/** Creates a function that lists the current records. A conversation stays the same object until it changes. */
export function createListing(
  records: ReadonlyMap<string, ConversationRecord>,
  getStatus: (id: string) => ConversationStatus,
  restoreMs: number,
): (isRestoring: boolean) => ConversationListState {
  let shown: ReadonlyMap<string, Conversation> = new Map();

  return (isRestoring) => {
    const all = [...records].map(
      ([id, record]): Listed => ({ ...record, conversation: toConversation(id, record) }),
    );
    shown = new Map(all.map(({ conversation }) => [conversation.id, conversation]));
    const conversations = all
      .filter(({ removedAt }) => removedAt === undefined)
      .sort((a, b) => getPinRank(b) - getPinRank(a) || b.updatedAt - a.updatedAt)
      .map(({ conversation }) => conversation);
    const removed = all
      .filter((one): one is Removed => one.removedAt !== undefined && one.removedAt + restoreMs > Date.now())
      .sort((a, b) => b.removedAt - a.removedAt)
      .map(({ conversation }) => conversation);
    return { conversations, removed, isRestoring };
  };

  function toConversation(id: string, record: ConversationRecord): Conversation {
    const { title, createdAt, updatedAt, isPinned = false } = record;
    const known = shown.get(id);
    const next: Conversation = {
      ...{ id, title, createdAt, updatedAt, isPinned },
      status: getStatus(id),
    };
    return known && isSame(known, next) ? known : next;
  }
}

function isSame(one: Conversation, other: Conversation): boolean {
  return (Object.keys({ ...one, ...other }) as (keyof Conversation)[]).every(
    (field) => one[field] === other[field],
  );
}

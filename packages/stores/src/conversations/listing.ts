import type { ConversationStatus } from "./activity.js";
import type { ConversationNews } from "./news.js";
import type { Conversation, ConversationRecord } from "./record.js";

/** Snapshot of the list. */
export interface ConversationListState {
  /** All conversations: pinned ones first, and the one with the newest question first. */
  readonly conversations: readonly Conversation[];
  /** Names of the folders that have conversations, in the order of the alphabet. */
  readonly folders: readonly string[];
  /** Removed conversations that `restore` still brings back, the last one first. */
  readonly removed: readonly Conversation[];
  /** True until the storage was read, for at most 3 s. */
  readonly isRestoring: boolean;
}

type Listed = ConversationRecord & { readonly conversation: Conversation };
const pinOf = ({ conversation }: Listed) => Number(conversation.isPinned);
type Removed = Listed & { readonly removedAt: number };

/** Returns a function that makes the list of the records as they stand. A conversation stays the same object until it changes. */
export function createListing(
  records: ReadonlyMap<string, ConversationRecord>,
  {
    statusOf,
    news,
    restoreMs,
  }: {
    readonly statusOf: (id: string) => ConversationStatus;
    readonly news: Pick<ConversationNews, "isUnread" | "timeOf">;
    readonly restoreMs: number;
  },
): (isRestoring: boolean) => ConversationListState {
  let shown: ReadonlyMap<string, Conversation> = new Map();

  return (isRestoring) => {
    const all = [...records].map(
      ([id, record]): Listed => ({
        ...record,
        conversation: shownAs(id, record),
        updatedAt: news.isUnread(id) ? Math.max(record.updatedAt, news.timeOf(id)) : record.updatedAt,
      }),
    );
    shown = new Map(all.map(({ conversation }) => [conversation.id, conversation]));
    const conversations = all
      .filter(({ removedAt }) => removedAt === undefined)
      .sort((a, b) => pinOf(b) - pinOf(a) || b.updatedAt - a.updatedAt)
      .map(({ conversation }) => conversation);
    const removed = all
      .filter((one): one is Removed => one.removedAt !== undefined && one.removedAt + restoreMs > Date.now())
      .sort((a, b) => b.removedAt - a.removedAt)
      .map(({ conversation }) => conversation);
    return { conversations, folders: foldersOf(conversations), removed, isRestoring };
  };

  function shownAs(id: string, record: ConversationRecord): Conversation {
    const { title, createdAt, updatedAt, isPinned = false, folder } = record;
    const now = { status: statusOf(id), isUnread: news.isUnread(id) };
    const known = shown.get(id);
    const next: Conversation = {
      ...{ id, title, createdAt, updatedAt, isPinned },
      ...(folder !== undefined && { folder }),
      ...now,
    };
    return known && isSame(known, next) ? known : next;
  }
}

function foldersOf(conversations: readonly Conversation[]): readonly string[] {
  const names = new Set(conversations.map(({ folder }) => folder).filter((name) => name !== undefined));
  return [...names].sort((a, b) => a.localeCompare(b));
}

function isSame(one: Conversation, other: Conversation): boolean {
  return (Object.keys({ ...one, ...other }) as (keyof Conversation)[]).every(
    (field) => one[field] === other[field],
  );
}

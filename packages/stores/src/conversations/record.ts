import type { ConversationStatus } from "./activity.js";

/** A conversation in the list. The object stays the same until something in it changes. */
export interface Conversation {
  /** Id of the conversation, and of its chat: `id` of `useChatStream`. */
  readonly id: string;
  /** Title: the first question, until it is renamed. Empty where the question had no text. */
  readonly title: string;
  /** Time of the first question; Unix milliseconds. */
  readonly createdAt: number;
  /** Time of the last question; Unix milliseconds. */
  readonly updatedAt: number;
  /** True for a conversation that stays at the top. */
  readonly isPinned: boolean;
  /** Name of the folder that it is in; absent from one that is in none. */
  readonly folder?: string;
  /** Status of the conversation in this tab, or that another tab answers. */
  readonly status: ConversationStatus;
  /**
   * True while it has an answer that was shown on no device of this user. False where the
   * storage is this browser's alone. It comes up to ten seconds after the message.
   */
  readonly isUnread: boolean;
}

/** Stored part of a conversation. The messages are kept by the chat with the same id. */
export interface ConversationRecord {
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly isPinned?: boolean;
  readonly folder?: string;
  /** True while a tab answers. That tab holds the lock of the conversation; without the lock, it was closed. */
  readonly isAnswering?: boolean;
  /** Time of the removal, while it can be taken back; Unix milliseconds. */
  readonly removedAt?: number;
  /** Number of the change, so that an older copy never wins. */
  readonly revision: number;
}

/** Reads a record. Anyone may write to a storage, so that an unreadable one is left out. */
export function recordIn(value: unknown): ConversationRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Record<string, unknown>;
  const { title, createdAt, updatedAt, isPinned, folder, isAnswering, removedAt, revision } = record;
  if (typeof title !== "string" || !isTime(createdAt) || !isTime(updatedAt)) return undefined;
  return {
    title,
    createdAt,
    updatedAt,
    ...(isPinned === true && { isPinned }),
    ...folderIn(folder),
    ...(isAnswering === true && { isAnswering }),
    ...(isTime(removedAt) && { removedAt }),
    revision: Number.isSafeInteger(revision) ? (revision as number) : 0,
  };
}

/** Makes the name of a folder: what looks alike is one, however a keyboard writes its accents. Undefined for none. */
export function folderOf(name: string): string | undefined {
  return name.trim().normalize() || undefined;
}

function folderIn(value: unknown): Pick<ConversationRecord, "folder"> {
  const folder = typeof value === "string" ? folderOf(value) : undefined;
  return folder === undefined ? {} : { folder };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Most characters of a title. */
const LONGEST_TITLE = 60;

/** Makes a title of the first question: its first line with text, cut between two words. */
export function titleOfQuestion(question: string): string {
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
  if (characters.length <= LONGEST_TITLE) return characters.join("");
  const cut = characters.slice(0, LONGEST_TITLE - 1).join("");
  const words = cut.replace(/\s+\S*$/, "");
  return `${words.length > LONGEST_TITLE / 2 ? words : cut}…`;
}

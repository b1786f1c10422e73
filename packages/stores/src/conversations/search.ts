import type { RecordStorage } from "@sluice/core";
import type { ChatStore } from "../chat/chat-store.js";
import type { Conversation } from "./records.js";

/** A conversation found by a search. */
export interface ConversationMatch {
  /** The conversation. */
  readonly conversation: Conversation;
  /** Id of the first message with all words; absent if the title has them. */
  readonly messageId?: string;
  /** Excerpt of that message around the first word, at most 160 characters; absent if the title has all words. */
  readonly excerpt?: string;
}

/** Options of `search`. */
export interface SearchOptions {
  /** Maximum number of results. @default 50 */
  readonly limit?: number | undefined;
  /** Aborts the search. */
  readonly signal?: AbortSignal | undefined;
}

interface MessageText {
  readonly id: string;
  readonly content: string;
}

const CHARACTERS_BEFORE_WORD = 40;
const MAX_EXCERPT_CHARACTERS = 160;

/**
 * Finds the conversations that have every word of a text, as documented at `search` of the list. Reads the messages of
 * one conversation after the other, until there are enough matches.
 */
export async function searchConversations(
  conversations: readonly Conversation[],
  text: string,
  readTexts: (id: string) => Promise<readonly MessageText[]>,
  { limit = 50, signal }: SearchOptions = {},
): Promise<readonly ConversationMatch[]> {
  const words = foldText(text).split(/\s+/).filter(Boolean);
  const [first = ""] = words;
  if (first === "") return [];
  const hasAllWords = (content: string) => {
    const searched = foldText(content);
    return words.every((word) => searched.includes(word));
  };
  const matches: ConversationMatch[] = conversations
    .filter(({ title }) => hasAllWords(title))
    .map((conversation) => ({ conversation }));
  const others = conversations.filter(({ title }) => !hasAllWords(title));
  for (const conversation of others) {
    if (matches.length >= limit) break;
    signal?.throwIfAborted();
    const message = (await readTexts(conversation.id)).find(({ content }) => hasAllWords(content));
    if (message)
      matches.push({ conversation, messageId: message.id, excerpt: cutExcerpt(message.content, first) });
  }
  signal?.throwIfAborted();
  return matches.slice(0, limit);
}

/** Reads the texts of a conversation: of its open chat, if any, and of all stored branches. */
export async function readMessageTexts(
  storage: RecordStorage,
  id: string,
  chat: ChatStore | undefined,
): Promise<readonly MessageText[]> {
  // the storage has all branches; a chat shows one of them and may be newer than the storage
  const shown = chat?.getSnapshot().messages ?? [];
  const stored = await storage.read(`chat/${id}`).catch(() => new Map<string, unknown>());
  return [...shown, ...parseTexts(stored)];
}

function parseTexts(records: ReadonlyMap<string, unknown>): readonly MessageText[] {
  return [...records].flatMap(([id, record]) => {
    const { message } = (record ?? {}) as { message?: { role?: unknown; content?: unknown } | null };
    const isShown = message?.role === "user" || message?.role === "assistant";
    return isShown && typeof message.content === "string" ? { id, content: message.content } : [];
  });
}

/** Converts a text to lower case without accents. */
function foldText(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Cuts an excerpt around a folded word. The text is not folded, so that the position may be off or missing. */
function cutExcerpt(content: string, word: string): string {
  const line = content.replace(/\s+/g, " ").trim();
  const start = Math.max(0, line.toLowerCase().indexOf(word) - CHARACTERS_BEFORE_WORD);
  const part = [...line.slice(start)].slice(0, MAX_EXCERPT_CHARACTERS - 2).join("");
  return `${start > 0 ? "…" : ""}${part}${start + part.length < line.length ? "…" : ""}`;
}

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

/** Search over titles and stored messages. */
export interface ConversationSearch {
  readonly find: (
    text: string,
    conversations: readonly Conversation[],
    options?: SearchOptions,
  ) => Promise<readonly ConversationMatch[]>;
  /** Reads the messages of a conversation again before the next search. */
  readonly forget: (id: string) => void;
}

interface MessageText {
  readonly id: string;
  readonly content: string;
}

/** Maximum number of conversations whose texts are cached for the next search. */
const MAX_CACHED = 200;
const EXCERPT_BEFORE = 40;
const EXCERPT_LENGTH = 160;

/** Creates the search. Caches the texts of messages, without images and other fields. */
export function createConversationSearch({
  storage,
  getChat,
}: {
  readonly storage: RecordStorage;
  readonly getChat: (id: string) => ChatStore | undefined;
}): ConversationSearch {
  const texts = new Map<string, readonly MessageText[]>();
  return { find, forget: (id) => texts.delete(id) };

  async function find(
    text: string,
    conversations: readonly Conversation[],
    { limit = 50, signal }: SearchOptions = {},
  ): Promise<readonly ConversationMatch[]> {
    const words = foldText(text).split(/\s+/).filter(Boolean);
    const [first = ""] = words;
    if (first === "") return [];
    const hasAll = (content: string) => {
      const searched = foldText(content);
      return words.every((word) => searched.includes(word));
    };
    const matches: ConversationMatch[] = conversations
      .filter(({ title }) => hasAll(title))
      .map((conversation) => ({ conversation }));
    const others = conversations.filter(({ title }) => !hasAll(title));
    for (const conversation of others) {
      if (matches.length >= limit) break;
      signal?.throwIfAborted();
      const message = (await readTexts(conversation.id)).find(({ content }) => hasAll(content));
      if (message)
        matches.push({
          conversation,
          messageId: message.id,
          excerpt: cutExcerpt(message.content, first),
        });
    }
    signal?.throwIfAborted();
    return matches.slice(0, limit);
  }

  async function readTexts(id: string): Promise<readonly MessageText[]> {
    const known = texts.get(id);
    if (known) return known;
    // the storage has all branches; a chat shows one of them and may be newer than the storage
    const shown = getChat(id)?.getSnapshot().messages;
    const stored = await storage.read(`chat/${id}`).catch(() => new Map<string, unknown>());
    const found = [...(shown ?? []), ...parseTexts(stored)];
    if (!shown) cacheTexts(id, found);
    return found;
  }

  function cacheTexts(id: string, found: readonly MessageText[]): void {
    const [oldest] = texts.keys();
    if (texts.size >= MAX_CACHED && oldest !== undefined) texts.delete(oldest);
    texts.set(id, found);
  }
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
  const start = Math.max(0, line.toLowerCase().indexOf(word) - EXCERPT_BEFORE);
  const part = [...line.slice(start)].slice(0, EXCERPT_LENGTH - 2).join("");
  return `${start > 0 ? "…" : ""}${part}${start + part.length < line.length ? "…" : ""}`;
}

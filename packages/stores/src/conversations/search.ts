import type { RecordStorage } from "@sluice/core";
import type { ChatStore } from "../chat/chat-store.js";
import type { Conversation } from "./record.js";

/** A conversation that was found. */
export interface ConversationMatch {
  /** The conversation. */
  readonly conversation: Conversation;
  /** Id of the first message with all words; absent where the title has them. */
  readonly messageId?: string;
  /** Part of that message around the first word, at most 160 characters; absent where the title has all words. */
  readonly excerpt?: string;
}

/** Options of `search`. */
export interface SearchOptions {
  /** Most conversations that are found. @default 50 */
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

/** Most conversations whose texts are kept for the next search. */
const MOST_KEPT = 200;
const EXCERPT_BEFORE = 40;
const EXCERPT_LENGTH = 160;

/** Creates the search. Texts of messages that were read once are kept, without images and other fields. */
export function createConversationSearch({
  storage,
  chatOf,
}: {
  readonly storage: RecordStorage;
  readonly chatOf: (id: string) => ChatStore | undefined;
}): ConversationSearch {
  const texts = new Map<string, readonly MessageText[]>();
  return { find, forget: (id) => texts.delete(id) };

  async function find(
    text: string,
    conversations: readonly Conversation[],
    { limit = 50, signal }: SearchOptions = {},
  ): Promise<readonly ConversationMatch[]> {
    const words = folded(text).split(/\s+/).filter(Boolean);
    const [first = ""] = words;
    if (first === "") return [];
    const hasAll = (content: string) => {
      const searched = folded(content);
      return words.every((word) => searched.includes(word));
    };
    const matches: ConversationMatch[] = conversations
      .filter(({ title }) => hasAll(title))
      .map((conversation) => ({ conversation }));
    const others = conversations.filter(({ title }) => !hasAll(title));
    for (const conversation of others) {
      if (matches.length >= limit) break;
      signal?.throwIfAborted();
      const message = (await textsOf(conversation.id)).find(({ content }) => hasAll(content));
      if (message)
        matches.push({
          conversation,
          messageId: message.id,
          excerpt: excerptOf(message.content, first),
        });
    }
    signal?.throwIfAborted();
    return matches.slice(0, limit);
  }

  async function textsOf(id: string): Promise<readonly MessageText[]> {
    const known = texts.get(id);
    if (known) return known;
    // all branches are stored; a chat shows one of them, and may be ahead of the storage
    const shown = chatOf(id)?.getSnapshot().messages;
    const stored = await storage.read(`chat/${id}`).catch(() => new Map<string, unknown>());
    const found = [...(shown ?? []), ...textsIn(stored)];
    if (!shown) keep(id, found);
    return found;
  }

  function keep(id: string, found: readonly MessageText[]): void {
    const [oldest] = texts.keys();
    if (texts.size >= MOST_KEPT && oldest !== undefined) texts.delete(oldest);
    texts.set(id, found);
  }
}

function textsIn(records: ReadonlyMap<string, unknown>): readonly MessageText[] {
  return [...records].flatMap(([id, record]) => {
    const { message } = (record ?? {}) as { message?: { role?: unknown; content?: unknown } | null };
    const isShown = message?.role === "user" || message?.role === "assistant";
    return isShown && typeof message.content === "string" ? { id, content: message.content } : [];
  });
}

/** Text in lower case and without accents. */
function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Cuts a text around a word, which is folded; the text is not, so that the place is found as well as it can be. */
function excerptOf(content: string, word: string): string {
  const line = content.replace(/\s+/g, " ").trim();
  const start = Math.max(0, line.toLowerCase().indexOf(word) - EXCERPT_BEFORE);
  const part = [...line.slice(start)].slice(0, EXCERPT_LENGTH - 2).join("");
  return `${start > 0 ? "…" : ""}${part}${start + part.length < line.length ? "…" : ""}`;
}

import type { Client, RecordStorage, Store } from "@sluice/core";
import { createRandomId, createStore, noteOptions } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getOpenChats } from "../chat/chat.js";
import type { ChatState } from "../chat/chat-store.js";
import { getClientStorage } from "../storage/client-storage.js";
import { registerForget } from "../storage/forget.js";
import { openMemoryStorage } from "../storage/memory.js";
import { readWhenPossible } from "../storage/wait.js";
import { createConversationActivity } from "./activity.js";
import { type ConversationListState, createListing } from "./listing.js";
import {
  COLLECTION,
  type ConversationRecords,
  createConversationRecords,
  createDefaultTitle,
  parseRecord,
} from "./records.js";
import {
  type ConversationMatch,
  readMessageTexts,
  type SearchOptions,
  searchConversations,
} from "./search.js";

/** The list of conversations with a question or a title, the same in all tabs. */
export interface ConversationList extends Store<ConversationListState> {
  /**
   * Returns the id of a new conversation. The list shows it from its first question on, or at once with a title, so that
   * unused conversations leave no row.
   */
  create(options?: {
    /** Title of the conversation. @default the first question */
    readonly title?: string;
  }): string;
  /** Changes the given fields of a conversation. */
  update(id: string, changes: ConversationChanges): void;
  /**
   * Removes a conversation in all tabs and stops its response. `restore` brings it back within `restoreMs`. After that,
   * its messages are deleted.
   */
  remove(id: string): void;
  /** Brings a removed conversation back, from any tab. */
  restore(id: string): void;
  /**
   * Finds the conversations that have every word of `text` in their title or in one message. Ignores case and accents.
   * Matches in titles come first, then matches in messages, each with the newest conversation first.
   *
   * @throws the signal's reason after an abort; nothing else
   */
  search(text: string, options?: SearchOptions): Promise<readonly ConversationMatch[]>;
  /** Lists a conversation from its first question on, even if an earlier page load has created its id. */
  show(id: string): void;
}

/** Changes of a conversation. */
interface ConversationChanges {
  /** Title. An empty title changes nothing. */
  readonly title?: string;
  /** True keeps the conversation at the top. */
  readonly isPinned?: boolean;
}

/** Options of {@link createConversationList}. */
export interface ConversationListOptions {
  /** Storage of the chats and the list. @default none: the list lasts as long as the page */
  readonly storage?: RecordStorage | undefined;
  /** Creates the title from the first question. @default its first line, at most 60 characters */
  readonly createTitle?: ((question: string) => string) | undefined;
  /** Time to restore a removed conversation, in milliseconds. @default 10_000 */
  readonly restoreMs?: number | undefined;
}

/** Additional time before another tab or the next page load deletes messages, in milliseconds. */
const GRACE_MS = 2000;

/**
 * Creates the list of a client's conversations. `createChatStore(client, { id, storage, … })` opens a conversation. The
 * list reads the storage at its first use and lasts as long as its client, so that an app creates one list.
 *
 * Titles come from the first question, and each conversation has a status. If the storage fails, the list lasts as long as
 * the page, and the client emits `storage-error`.
 *
 * @example
 * ```ts
 * const list = createConversationList(client, { storage: indexedDBStorage() });
 * list.subscribe(() => render(list.getSnapshot().conversations));
 * const id = list.create();
 * list.update(id, { isPinned: true });
 * ```
 */
export function createConversationList(
  client: Client,
  options: ConversationListOptions = {},
): ConversationList {
  noteOptions("createConversationList or useConversations", options, client);
  const { createTitle = createDefaultTitle, restoreMs = 10_000 } = options;
  const storage = getClientStorage(client, options.storage ?? openMemoryStorage());
  const records = createConversationRecords(client, storage, () => store.flush());
  const report = (error: unknown) => reportStorageFailure(client, error);
  const createdIds = new Set<string>();
  const openChats = getOpenChats(client);
  const activity = createConversationActivity(openChats, (id, { persistence, messages }) => {
    if (persistence?.status !== "restoring") updateRecord(records, createTitle, id, messages);
    store.flush();
  });
  const computeState = createListing(records.all, activity.getStatus, restoreMs);
  let isRead = false;
  let reading: Promise<void> | undefined;
  const store = createStore(() => computeState(!isRead), { clock: client.clock, onUse: () => void open() });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    create({ title } = {}) {
      const id = createId();
      createdIds.add(id);
      if (title)
        void open().then(() => records.add(id, { title, createdAt: Date.now(), updatedAt: Date.now() }));
      return id;
    },
    update: (id, { title = "", isPinned }) =>
      records.change(id, {
        ...(title.trim() !== "" && { title: title.trim() }),
        ...(isPinned !== undefined && { isPinned }),
      }),
    remove(id) {
      records.change(id, { removedAt: Date.now() });
      endRemoved(id, restoreMs);
    },
    restore: (id) => records.change(id, { removedAt: undefined }),
    async search(text, options) {
      await open();
      const readTexts = (id: string) => readMessageTexts(storage, id, openChats.byId.get(id));
      return searchConversations(store.getSnapshot().conversations, text, readTexts, options);
    },
    show(id) {
      createdIds.add(id);
      if (isRead) activity.subscribe([id]);
    },
  };

  function open(): Promise<void> {
    reading ??= read();
    return reading;
  }

  async function read(): Promise<void> {
    // the clock of another device may be ahead: conversations that it removes can be restored for the full time here
    storage.subscribe(COLLECTION, (changes) => merge(changes, restoreMs + GRACE_MS));
    let isForgotten = false;
    // the list lives as long as its client
    registerForget(client, () => {
      isForgotten = true;
      records.clear();
      store.flush();
    });
    await readWhenPossible(
      client,
      () => storage.read(COLLECTION),
      (stored) => {
        if (!isForgotten) merge(stored, 0);
      },
      report,
    );
    isRead = true;
    openChats.listeners.add(subscribeToAll);
    subscribeToAll();
    store.flush();
  }

  function subscribeToAll(): void {
    activity.subscribe([...records.all.keys(), ...createdIds]);
  }

  /**
   * Merges changes of other tabs and devices.
   *
   * @param minMs minimum time until the messages of a removed conversation are deleted, in milliseconds
   */
  function merge(changes: ReadonlyMap<string, unknown>, minMs: number): void {
    for (const [id, value] of changes) {
      const record = parseRecord(value);
      if (!records.merge(id, record)) continue;
      if (record?.removedAt !== undefined)
        endRemoved(id, Math.max(minMs, record.removedAt + restoreMs + GRACE_MS - Date.now()));
    }
    if (isRead) subscribeToAll();
    store.flush();
  }

  function endRemoved(id: string, purgeMs: number): void {
    openChats.byId.get(id)?.stop();
    void purgeLater(id, purgeMs);
  }

  /** Deletes a removed conversation after `ms` milliseconds, unless it is restored or removed again before. */
  async function purgeLater(id: string, ms: number): Promise<void> {
    const removedAt = records.all.get(id)?.removedAt;
    await client.clock.sleep(Math.max(0, ms));
    if (removedAt === undefined || records.all.get(id)?.removedAt !== removedAt) return;
    const collection = `chat/${id}`;
    openChats.byId.get(id)?.reset();
    try {
      const keys = [...(await storage.read(collection)).keys()];
      await storage.write(collection, new Map(keys.map((key) => [key, undefined])));
    } catch (error) {
      return report(error);
    }
    // its record is deleted last, so that the next page load can finish an interrupted deletion
    if (records.all.get(id)?.removedAt !== undefined) records.remove(id);
  }
}

/** Updates the record of a chat. The first question creates it with its title; each question sets its time. */
function updateRecord(
  records: ConversationRecords,
  createTitle: (question: string) => string,
  id: string,
  messages: ChatState["messages"],
): void {
  const first = messages.find(({ role }) => role === "user");
  const last = messages.findLast(({ role }) => role === "user");
  if (!first || !last) return;
  const { createdAt: updatedAt = Date.now() } = last;
  const record = records.all.get(id);
  if (!record) {
    const { createdAt = updatedAt } = first;
    records.add(id, { title: createTitle(first.content), createdAt, updatedAt });
  } else if (updatedAt > record.updatedAt) {
    const title = record.title || createTitle(first.content);
    // a question restores a removed conversation, so that its messages are not deleted
    records.change(id, { updatedAt, title, removedAt: undefined });
  }
}

/** Creates a random id of letters and digits. */
function createId(): string {
  return createRandomId().replaceAll("-", "");
}

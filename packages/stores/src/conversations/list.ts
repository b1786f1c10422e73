import type { Client, RecordStorage, Store } from "@sluice/core";
import { createRandomWords, createStore, noteOptions, reportStorageFailure } from "@sluice/core/internal";
import type { ChatState } from "../chat/state.js";
import { storageOf } from "../storage/client-storage.js";
import { onForget } from "../storage/in-use.js";
import { memoryStorage } from "../storage/memory.js";
import { readWhenPossible } from "../storage/wait.js";
import { createConversationActivity } from "./activity.js";
import { type ConversationListState, createListing } from "./listing.js";
import { createConversationNews } from "./news.js";
import { purgeLater } from "./purge.js";
import { folderOf, recordIn, titleOfQuestion } from "./record.js";
import { COLLECTION, type ConversationRecords, createConversationRecords } from "./records.js";
import { type ConversationMatch, createConversationSearch, type SearchOptions } from "./search.js";

/** The list of conversations: all that have a question or a title, in step over all tabs. */
export interface ConversationList extends Store<ConversationListState> {
  /**
   * Returns the id of a new conversation. It is listed from its first question on, or at once with a title, so that
   * unused conversations leave no row.
   */
  create(options?: {
    /** Title of the conversation, which is listed at once. @default the first question */
    readonly title?: string;
  }): string;
  /** Changes a conversation: the fields that are given. */
  update(id: string, changes: ConversationChanges): void;
  /** Renames a folder, in all its conversations. The name of another folder joins both; an empty one ends the folder. */
  renameFolder(folder: string, name: string): void;
  /**
   * Removes a conversation in all tabs, and stops its answer. `restore` brings it back for `restoreMs`; then its
   * messages are deleted.
   */
  remove(id: string): void;
  /** Brings a removed conversation back, from any tab. */
  restore(id: string): void;
  /**
   * Finds the conversations that have every word of `text` in their title or in one message. Case and accents make no
   * difference. Titles come first, then messages; within each the newest conversation first.
   *
   * @throws the signal's reason after an abort; nothing else
   */
  search(text: string, options?: SearchOptions): Promise<readonly ConversationMatch[]>;
  /**
   * Notes that a conversation is shown, so that nothing in it is unread, until the returned function is called. It is
   * listed from its first question on, also where an earlier page load has created it.
   */
  show(id: string): () => void;
}

/** Changes of a conversation. */
interface ConversationChanges {
  /** Title. An empty one changes nothing. */
  readonly title?: string;
  /** True keeps the conversation at the top. */
  readonly isPinned?: boolean;
  /** Name of the folder that it is put in, which needs not be there before. An empty name takes it out. */
  readonly folder?: string;
}

/** Options of {@link createConversationList}. */
export interface ConversationListOptions {
  /** Storage of the list: the one of the chats. @default none: the list lasts as long as the page */
  readonly storage?: RecordStorage | undefined;
  /** Makes the title of the first question. @default its first line, at most 60 characters */
  readonly createTitle?: ((question: string) => string) | undefined;
  /** Time that a removed conversation can be restored, in milliseconds. @default 10_000 */
  readonly restoreMs?: number | undefined;
}

/** Time that another tab, or the next page load, waits longer before it deletes messages, in milliseconds. */
const GRACE_MS = 2000;

/**
 * Creates the list of a client's conversations. `createChatStore(client, { id, storage, … })` opens one of them. The list
 * reads the storage when it is used for the first time, and lasts as long as its client: an app creates one.
 *
 * Titles come from the first question, and each conversation has a status. Where the storage is refused, the list lasts as
 * long as the page, and the client emits why.
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
  const { createTitle = titleOfQuestion, restoreMs = 10_000 } = options;
  const storage = storageOf(client, options.storage ?? memoryStorage());
  const records = createConversationRecords(client, storage, () => store.flush());
  const tracked = new Set<string>();
  const activity = createConversationActivity(client, {
    onChat(id, state) {
      search.forget(id);
      if (!state.isRestoring) noteQuestions(records, createTitle, id, state.messages);
    },
    onAnswering: (id, isAnswering) => records.change(id, { isAnswering }),
    onStatus: () => store.flush(),
  });
  const { chatOf } = activity;
  const search = createConversationSearch({ storage, chatOf });
  const news = createConversationNews(client, storage, {
    isAnswering: (id) => activity.statusOf(id) === "answering",
    onChange: () => store.flush(),
  });
  const list = createListing(records.all, { statusOf: activity.statusOf, news, restoreMs });
  let isRead = false;
  let reading: Promise<void> | undefined;
  const store = createStore(() => list(!isRead), { clock: client.clock, onUse: () => void open() });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    create({ title } = {}) {
      const id = createId();
      tracked.add(id);
      const now = () => ({ createdAt: Date.now(), updatedAt: Date.now() });
      if (title) void open().then(() => records.add(id, { title, ...now() }));
      return id;
    },
    update: (id, { title = "", isPinned, folder }) =>
      records.change(id, {
        ...(title.trim() !== "" && { title: title.trim() }),
        ...(isPinned !== undefined && { isPinned }),
        ...(folder !== undefined && { folder: folderOf(folder) }),
      }),
    renameFolder(folder, name) {
      const old = folderOf(folder);
      const within = [...records.all].flatMap(([id, record]) => (old && record.folder === old ? id : []));
      records.changeAll(within, { folder: folderOf(name) });
    },
    remove(id) {
      records.change(id, { removedAt: Date.now(), isAnswering: false });
      endRemoved(id, restoreMs);
    },
    restore: (id) => records.change(id, { removedAt: undefined }),
    async search(text, options) {
      await open();
      return search.find(text, store.getSnapshot().conversations, options);
    },
    show(id) {
      tracked.add(id);
      if (isRead) activity.follow([id]);
      return news.show(id);
    },
  };

  function open(): Promise<void> {
    reading ??= read();
    return reading;
  }

  async function read(): Promise<void> {
    // the clock of another device may be ahead: what was removed there can be restored as long as here
    storage.watch(COLLECTION, (changes) => merge(changes, restoreMs + GRACE_MS));
    let isForgotten = false;
    // the list lives as long as its client
    onForget(client, () => {
      isForgotten = true;
      for (const id of records.all.keys()) search.forget(id);
      records.clear();
      news.clear();
      store.flush();
    });
    await readWhenPossible(
      client,
      () => storage.read(COLLECTION),
      (stored) => {
        if (!isForgotten) merge(stored, 0);
      },
      (error) => reportStorageFailure(client, error),
    );
    isRead = true;
    activity.onNewChat(followAll);
    followAll();
    store.flush();
  }

  function followAll(): void {
    activity.follow([...records.all.keys(), ...tracked]);
  }

  /**
   * Takes what other tabs and devices have written or removed.
   *
   * @param leastMs shortest time until what they have removed is deleted
   */
  function merge(changes: ReadonlyMap<string, unknown>, leastMs: number): void {
    for (const [id, value] of changes) {
      if (news.take(id, value)) continue;
      const record = recordIn(value);
      if (!records.take(id, record)) continue;
      search.forget(id);
      if (record?.isAnswering) activity.watchElsewhere(id);
      if (record?.removedAt !== undefined)
        endRemoved(id, Math.max(leastMs, record.removedAt + restoreMs + GRACE_MS - Date.now()));
    }
    if (isRead) followAll();
    store.flush();
  }

  function endRemoved(id: string, purgeMs: number): void {
    chatOf(id)?.stop();
    void purgeLater({ client, storage, records, chatOf }, id, purgeMs);
  }
}

/** Notes the questions of a chat: the first gives a conversation its record and title, each its time. */
function noteQuestions(
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
    // a question in a removed conversation brings it back: its messages would be lost
    records.change(id, { updatedAt, title, removedAt: undefined });
  }
}

/** 128 random bits; not `randomUUID`, which plain-http pages do not have. */
function createId(): string {
  return Array.from(createRandomWords(), (word) => word.toString(36)).join("");
}

import type { Client, RecordStorage, Store } from "@sluice/core";
import { createStore, randomWords, reportStorageFailure } from "@sluice/core/internal";
import { type ChatState, memoryStorage } from "@sluice/stores";
import { onForget, readWhenPossible, storageOf } from "@sluice/stores/internal";
import { createConversationActivity } from "./conversation-activity.js";
import { type ConversationListState, createListing } from "./conversation-listing.js";
import { createConversationNews } from "./conversation-news.js";
import { purgeLater } from "./conversation-purge.js";
import { folderOf, recordIn, titleOfQuestion } from "./conversation-record.js";
import { COLLECTION, type ConversationRecords, createConversationRecords } from "./conversation-records.js";
import {
  type ConversationMatch,
  createConversationSearch,
  type SearchOptions,
} from "./conversation-search.js";

/** Store of the conversations of a browser. */
export interface ConversationStore extends Store<ConversationListState> {
  /**
   * Returns the id of a new conversation. It is listed from its first question on, or at once with a title, so that
   * unused conversations leave no row.
   */
  create(options?: {
    /** Title of the conversation, which is listed at once. @default the first question */
    readonly title?: string;
  }): string;
  /** Changes the title. An empty one changes nothing. */
  rename(id: string, title: string): void;
  /** Keeps a conversation at the top, or no longer. @param isPinned default true */
  pin(id: string, isPinned?: boolean): void;
  /** Puts a conversation in the folder of a name, which needs not be there before. An empty name takes it out. */
  move(id: string, folder: string): void;
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
  /** Lists the conversation with this id from its first question on. */
  track(id: string): void;
  /** Notes that the conversation is shown, so that nothing in it is unread, until the returned function is called. */
  show(id: string): () => void;
}

/** Options of {@link createConversationStore}. */
export interface ConversationStoreOptions {
  readonly storage: RecordStorage;
  readonly createTitle: (question: string) => string;
  readonly restoreMs: number;
}

/** Time that another tab, or the next page load, waits longer before it deletes messages, in milliseconds. */
const GRACE_MS = 2000;

/** Creates the list of a client's conversations. It reads the storage when it is shown for the first time. */
export function createConversationStore(
  client: Client,
  { storage: given, createTitle, restoreMs }: ConversationStoreOptions,
): ConversationStore {
  const storage = storageOf(client, given);
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
    rename(id, title) {
      if (title.trim() !== "") records.change(id, { title: title.trim() });
    },
    pin: (id, isPinned = true) => records.change(id, { isPinned }),
    move: (id, folder) => records.change(id, { folder: folderOf(folder) }),
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
    track(id) {
      tracked.add(id);
      if (isRead) activity.follow([id]);
    },
    show: news.show,
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
  return Array.from(randomWords(), (word) => word.toString(36)).join("");
}

const stores = new WeakMap<Client, Map<RecordStorage | undefined, ConversationStore>>();

/** The list of a client's conversations in a storage: one for all components that show it. */
export function conversationStoreOf(
  client: Client,
  {
    storage,
    createTitle = titleOfQuestion,
    restoreMs = 10_000,
  }: { [Key in keyof ConversationStoreOptions]?: ConversationStoreOptions[Key] | undefined },
): ConversationStore {
  const create = () =>
    createConversationStore(client, { storage: storage ?? memoryStorage(), createTitle, restoreMs });
  if (typeof window === "undefined") return create();
  const ofClient = stores.get(client) ?? new Map<RecordStorage | undefined, ConversationStore>();
  stores.set(client, ofClient);
  const store = ofClient.get(storage) ?? create();
  ofClient.set(storage, store);
  return store;
}

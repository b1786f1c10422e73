import type { ChatState, Client, RecordStorage, Store } from "@sluice/core";
import { memoryStorage } from "@sluice/core";
import {
  createRecordWriter,
  createStore,
  onForget,
  randomWords,
  readWhenPossible,
  reportStorageFailure,
  storageOf,
} from "@sluice/core/internal";
import { createConversationActivity } from "./conversation-activity.js";
import { type ConversationListState, createListing } from "./conversation-listing.js";
import { type ConversationRecord, recordIn, titleOfQuestion } from "./conversation-record.js";
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
}

/** Options of {@link createConversationStore}. */
export interface ConversationStoreOptions {
  readonly storage: RecordStorage;
  readonly titleOf: (question: string) => string;
  readonly restoreMs: number;
}

const COLLECTION = "conversations";
/** Time that another tab, or the next page load, waits longer before it deletes messages, in milliseconds. */
const GRACE_MS = 2000;

/** Creates the list of a client's conversations. It reads the storage when it is shown for the first time. */
export function createConversationStore(
  client: Client,
  { storage: given, titleOf, restoreMs }: ConversationStoreOptions,
): ConversationStore {
  const { clock } = client;
  const storage = storageOf(client, given);
  const records = new Map<string, ConversationRecord>();
  const tracked = new Set<string>();
  let isRestoring = true;
  let opening: Promise<void> | undefined;
  const activity = createConversationActivity(client, {
    onChat: noteQuestions,
    onAnswering: (id, isAnswering) => change(id, { isAnswering }),
    onStatus: () => store.flush(),
  });
  const writer = createRecordWriter({
    client,
    storage,
    collection: COLLECTION,
    recordOf: (id) => records.get(id),
    onFailure: report,
  });
  const search = createConversationSearch({ storage, chatOf: activity.chatOf });
  const list = createListing(records, { statusOf: activity.statusOf, restoreMs });
  const store = createStore(() => list(isRestoring), { clock, onUse: () => void open() });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    create({ title } = {}) {
      const id = createId();
      tracked.add(id);
      if (title) void open().then(() => add(id, title, Date.now(), Date.now()));
      return id;
    },
    rename(id, title) {
      if (title.trim() !== "") change(id, { title: title.trim() });
    },
    pin: (id, isPinned = true) => change(id, { isPinned }),
    remove(id) {
      change(id, { removedAt: Date.now(), isAnswering: false });
      activity.chatOf(id)?.stop();
      purgeLater(id, restoreMs);
    },
    restore: (id) => change(id, { removedAt: undefined }),
    async search(text, options) {
      await open();
      return search.find(text, store.getSnapshot().conversations, options);
    },
    track(id) {
      tracked.add(id);
      if (!isRestoring) activity.follow([id]);
    },
  };

  function open(): Promise<void> {
    opening ??= restore();
    return opening;
  }

  async function restore(): Promise<void> {
    storage.watch(COLLECTION, merge);
    let isForgotten = false;
    const mergeStored = (stored: ReadonlyMap<string, unknown>) => {
      if (!isForgotten) merge(stored);
    };
    // the list lives as long as its client
    onForget(client, () => {
      isForgotten = true;
      for (const id of records.keys()) search.forget(id);
      records.clear();
      store.flush();
    });
    await readWhenPossible(client, () => storage.read(COLLECTION), mergeStored, report);
    isRestoring = false;
    activity.onNewChat(followAll);
    followAll();
    store.flush();
  }

  function followAll(): void {
    activity.follow([...records.keys(), ...tracked]);
  }

  function merge(changes: ReadonlyMap<string, unknown>): void {
    for (const [id, value] of changes) {
      const record = recordIn(value);
      if (record && record.revision < (records.get(id)?.revision ?? 0)) continue;
      search.forget(id);
      if (!record) records.delete(id);
      else {
        records.set(id, record);
        if (record.isAnswering) activity.watchElsewhere(id);
        if (record.removedAt !== undefined) removedElsewhere(id, record.removedAt);
      }
    }
    if (!isRestoring) followAll();
    store.flush();
  }

  function removedElsewhere(id: string, removedAt: number): void {
    activity.chatOf(id)?.stop();
    purgeLater(id, removedAt + restoreMs + GRACE_MS - Date.now());
  }

  function noteQuestions(id: string, { messages, isRestoring }: ChatState): void {
    search.forget(id);
    const first = messages.find(({ role }) => role === "user");
    const last = messages.findLast(({ role }) => role === "user");
    if (isRestoring || !first || !last) return;
    const { createdAt = Date.now() } = last;
    const record = records.get(id);
    if (!record) add(id, titleOf(first.content), first.createdAt ?? createdAt, createdAt);
    else if (createdAt > record.updatedAt)
      // a question in a removed conversation brings it back: its messages would be lost
      change(id, {
        updatedAt: createdAt,
        title: record.title || titleOf(first.content),
        removedAt: undefined,
      });
  }

  function add(id: string, title: string, createdAt: number, updatedAt: number): void {
    put(id, { title, createdAt, updatedAt, revision: 1 });
  }

  /** Changes fields of a conversation; `undefined` and `false` remove one. */
  function change(
    id: string,
    fields: { [Key in keyof ConversationRecord]?: ConversationRecord[Key] | undefined },
  ): void {
    const record = records.get(id);
    if (!record) return;
    const all = Object.entries({ ...record, ...fields, revision: record.revision + 1 });
    const kept = all.filter(([, value]) => value !== undefined && value !== false);
    put(id, Object.fromEntries(kept) as unknown as ConversationRecord);
  }

  function put(id: string, record: ConversationRecord): void {
    records.set(id, record);
    store.flush();
    save(id);
  }

  function save(id: string): void {
    void writer.put(id);
  }

  function purgeLater(id: string, ms: number): void {
    const removedAt = records.get(id)?.removedAt;
    const never = new AbortController().signal;
    void clock.sleep(Math.max(0, ms), never).then(() => {
      if (removedAt !== undefined && records.get(id)?.removedAt === removedAt) void purge(id);
    });
  }

  /**
   * Deletes a conversation with its messages, also those that no chat of this tab has read. The record goes last: as
   * long as it is there, the next page load deletes what is left.
   */
  async function purge(id: string): Promise<void> {
    activity.chatOf(id)?.reset();
    const messages = createRecordWriter({
      client,
      storage,
      collection: `chat/${id}`,
      recordOf: () => undefined,
      onFailure: report,
    });
    try {
      for (const key of (await storage.read(`chat/${id}`)).keys()) messages.mark(key);
      await messages.write();
    } catch (error) {
      return report(error);
    }
    if (messages.unsaved.size > 0 || records.get(id)?.removedAt === undefined) return;
    records.delete(id);
    store.flush();
    save(id);
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
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
    titleOf = titleOfQuestion,
    restoreMs = 10_000,
  }: { [Key in keyof ConversationStoreOptions]?: ConversationStoreOptions[Key] | undefined },
): ConversationStore {
  const create = () =>
    createConversationStore(client, { storage: storage ?? memoryStorage(), titleOf, restoreMs });
  if (typeof window === "undefined") return create();
  const ofClient = stores.get(client) ?? new Map<RecordStorage | undefined, ConversationStore>();
  stores.set(client, ofClient);
  const store = ofClient.get(storage) ?? create();
  ofClient.set(storage, store);
  return store;
}

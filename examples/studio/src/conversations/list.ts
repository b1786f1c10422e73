import type { RecordStorage, Store } from "@sluice/core";
import { createPageStore } from "../store.js";

/** A conversation, as the list shows it. The thread itself is kept by the chat of the same id. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  /** When its last question was asked, in Unix milliseconds. */
  readonly askedAt: number;
}

/** The conversations that this browser keeps, the one that was asked last first. */
export interface ConversationList extends Store<readonly Conversation[]> {
  /** Something was asked in it. The title is taken from the first question, and stays. */
  readonly note: (asked: Conversation) => void;
  readonly rename: (id: string, title: string) => void;
  readonly forget: (id: string) => void;
}

const COLLECTION = "conversations";

/** Creates the list; it is read from `storage` when somebody looks, and hears of other tabs. */
export function createConversationList(
  storage: RecordStorage,
  onFailure: (error: unknown) => void,
): ConversationList {
  const known = new Map<string, Conversation>();
  const store = createPageStore(() => [...known.values()].sort((one, other) => other.askedAt - one.askedAt));
  let reading: Promise<void> | undefined;

  return {
    getSnapshot: store.getSnapshot,
    subscribe(listener) {
      void whenRead();
      return store.subscribe(listener);
    },
    note({ id, title, askedAt }) {
      void whenRead().then(() => {
        const before = known.get(id);
        if (before && before.askedAt >= askedAt) return;
        put({ id, title: before?.title ?? title, askedAt });
      });
    },
    rename(id, title) {
      const before = known.get(id);
      if (before) put({ ...before, title });
    },
    forget(id) {
      known.delete(id);
      write(id, undefined);
    },
  };

  function whenRead(): Promise<void> {
    reading ??= read().catch(onFailure);
    return reading;
  }

  async function read(): Promise<void> {
    storage.watch(COLLECTION, merge);
    merge(await storage.read(COLLECTION));
  }

  function merge(records: ReadonlyMap<string, unknown>): void {
    for (const [id, record] of records)
      if (isConversation(record, id)) known.set(id, record);
      else known.delete(id);
    store.flush();
  }

  function put(conversation: Conversation): void {
    known.set(conversation.id, conversation);
    write(conversation.id, conversation);
  }

  function write(id: string, record: Conversation | undefined): void {
    store.flush();
    storage.write(COLLECTION, new Map([[id, record]])).catch(onFailure);
  }
}

/** A storage holds what anybody put there. */
function isConversation(record: unknown, key: string): record is Conversation {
  if (typeof record !== "object" || record === null) return false;
  const { id, title, askedAt } = record as Record<string, unknown>;
  return id === key && typeof title === "string" && typeof askedAt === "number";
}

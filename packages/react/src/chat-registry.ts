import {
  type ChatState,
  type ChatStore,
  type ChatStoreOptions,
  type Client,
  createChatStore,
  createRegistry,
  type Registry,
  type Store,
} from "@sluice/core";

/** A shared chat, and the way to tell it what its components' latest render said. */
export interface SharedChat {
  readonly store: ChatStore;
  readonly update: (options: ChatStoreOptions) => void;
}

/** A chat with an id outlives a route change; one without can't be found again once its component is gone. */
const NAMED_LINGER_MS = 5 * 60_000;
const UNNAMED_LINGER_MS = 1000;

const registries = new WeakMap<Client, Registry<SharedChat>>();

/** The chats of a client, by id. */
export function chatsOf(client: Client): Registry<SharedChat> {
  const known = registries.get(client);
  if (known) return known;
  const registry = createRegistry<SharedChat>({
    dispose: ({ store }) => store.close(),
    lingerMs: (key) => (typeof key === "string" ? NAMED_LINGER_MS : UNNAMED_LINGER_MS),
    clock: client.clock,
  });
  registries.set(client, registry);
  return registry;
}

/** A chat that reads its options when it uses them, so that none of them is ever stale. */
export function createSharedChat(client: Client, initial: ChatStoreOptions): SharedChat {
  let latest = initial;
  return {
    store: createChatStore(client, () => latest),
    update(options) {
      latest = options;
    },
  };
}

/** The state of the chat with an id, whether it is there yet or not. */
export function watchChat(client: Client, id: string): Store<ChatState | undefined> {
  const chats = chatsOf(client);
  return {
    getSnapshot: () => chats.peek(id)?.store.getSnapshot(),
    subscribe(listener) {
      let watched = chats.peek(id)?.store;
      let stop = watched?.subscribe(listener);
      const stopWaiting = chats.subscribe(() => {
        const current = chats.peek(id)?.store;
        if (current === watched) return;
        stop?.();
        watched = current;
        stop = current?.subscribe(listener);
        listener();
      });
      return () => {
        stop?.();
        stopWaiting();
      };
    },
  };
}

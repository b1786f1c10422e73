import {
  type ChatStore,
  type ChatStoreOptions,
  type Client,
  createChatStore,
  createRegistry,
  type Registry,
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
    dispose: ({ store }) => store.stop(),
    lingerMs: (key) => (typeof key === "string" ? NAMED_LINGER_MS : UNNAMED_LINGER_MS),
    clock: client.clock,
  });
  registries.set(client, registry);
  return registry;
}

/** A chat that reads its options when it uses them, so that none of them is ever stale. */
export function createSharedChat(client: Client, initial: ChatStoreOptions): SharedChat {
  let latest = initial;
  const call = <T>(value: T | (() => T)): T => (typeof value === "function" ? (value as () => T)() : value);
  return {
    store: createChatStore(client, {
      ...initial,
      params: () => call(latest.params),
      request: () => call(latest.request ?? {}),
      onFinish: (message) => latest.onFinish?.(message),
      onError: (error, message) => latest.onError?.(error, message),
    }),
    update(options) {
      latest = options;
    },
  };
}

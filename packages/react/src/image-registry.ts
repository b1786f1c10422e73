import {
  type Client,
  createImageStore,
  createRegistry,
  type ImageStore,
  type ImageStoreOptions,
  type Registry,
} from "@sluice/core";

/** A shared image store, and the way to tell it what its components' latest render said. */
export interface SharedImages<Model extends string> {
  readonly store: ImageStore<Model>;
  readonly update: (options: ImageStoreOptions<Model>) => void;
}

/** Images are paid for: those with an id wait for longer than a request may take. The rest nobody could find again. */
const NAMED_LINGER_MS = 15 * 60_000;
const UNNAMED_LINGER_MS = 1000;

const registries = new WeakMap<Client, Registry<unknown>>();

/** The image stores of a client, by id; `Model` is what those who share one have agreed on. */
export function imagesOf<Model extends string>(client: Client): Registry<SharedImages<Model>> {
  const known = registries.get(client) as Registry<SharedImages<Model>> | undefined;
  if (known) return known;
  const registry = createRegistry<SharedImages<Model>>({
    dispose: ({ store }) => store.stop(),
    lingerMs: (key) => (typeof key === "string" ? NAMED_LINGER_MS : UNNAMED_LINGER_MS),
    clock: client.clock,
  });
  registries.set(client, registry);
  return registry;
}

/** An image store that reads its options when it uses them, so that none of them is ever stale. */
export function createSharedImages<Model extends string>(
  client: Client,
  initial: ImageStoreOptions<Model>,
): SharedImages<Model> {
  let latest = initial;
  return {
    store: createImageStore<Model>(client, () => latest),
    update(options) {
      latest = options;
    },
  };
}

import type { Client } from "@sluice/core";
import type { ChatStore, ImageStore } from "@sluice/stores";
import { chats } from "./chats.js";
import { images } from "./images.js";

/** Stores of one kind that the hooks of a client share. */
interface HookStoreList<Store> {
  /** The stores by their keys: the `id` of the hook, or an object for a hook without one. */
  readonly entries: ReadonlyMap<unknown, HookStore<Store>>;
  /** Calls `listener` when a store is added or removed. Returns a function that unsubscribes. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** A store and the number of components that show it. */
interface HookStore<Store> {
  /** The store. */
  readonly value: Store;
  /** Number of components that show it. */
  readonly holders: number;
}

/** The stores that the hooks of a client share. */
interface HookStores {
  /** Stores of `useChatStream`. */
  readonly chats: HookStoreList<ChatStore>;
  /** Stores of `useImages`. */
  readonly images: HookStoreList<ImageStore<string>>;
}

/**
 * Returns the stores that the hooks of a client share, for developer tools.
 *
 * @example
 * ```ts
 * const { chats } = getHookStores(createClient({ baseURL: "/api" }));
 * for (const [id, { value, holders }] of chats.entries)
 *   console.log(id, value.getSnapshot().status, holders);
 * ```
 */
export function getHookStores(client: Client): HookStores {
  return { chats: chats.get(client), images: images.get(client) };
}

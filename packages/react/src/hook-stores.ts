import type { Client } from "@sluice/core";
import type { ChatStore, ImageStore } from "@sluice/stores";
import { chats } from "./chats.js";
import { images } from "./images.js";
import type { Registry } from "./shared-stores.js";

/** Stores of one kind: `entries` by their keys, and `subscribe` for each store that is added or removed. */
type StoreList<Store> = Pick<Registry<Store>, "entries" | "subscribe">;

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
export function getHookStores(client: Client): {
  /** Stores of `useChatStream`. */
  readonly chats: StoreList<ChatStore>;
  /** Stores of `useImages`. */
  readonly images: StoreList<ImageStore<string>>;
} {
  return { chats: chats.get(client), images: images.get(client) };
}

import type { Client } from "@sluice/core";
import { repeatIfStored } from "@sluice/core/extend";

/**
 * Returns a client whose chats are billed at most once. It retries a 429, and other errors only if the proxy stores the
 * key.
 */
export function billChatsOnce(client: Client): Client {
  return { ...client, repeatsChats: repeatIfStored };
}

import type { Client } from "@sluice/core";

/**
 * Returns a client whose chats are billed at most once. It retries a 429, and other errors only if the proxy stores the
 * key.
 */
export function billChatsOnce(client: Client): Client {
  return { ...client, billsChatsOnce: true };
}

import type { Client } from "@sluice/core";

/** Returns the client for chats that are billed once: it repeats a 429, and the rest only if the proxy remembers it. */
export function billedOnce(client: Client): Client {
  return { ...client, billsChatsOnce: true };
}

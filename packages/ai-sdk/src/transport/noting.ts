import type { Client } from "@sluice/core";

/** Receivers of what the headers of an answer say, before its first word. */
interface Notes {
  /** Receives the id under which the proxy keeps the answer. */
  readonly onId?: (streamId: string) => void;
  /** Called when the answer has begun. */
  readonly onOpen?: () => void;
}

/** Makes a client for one answer that notes its headers: a page may be left while the model still thinks. */
export function noting(client: Client, { onId, onOpen }: Notes): Client {
  const fetch: Client["fetch"] = async (...given) => {
    const response = await client.fetch(...given);
    const id = response.headers.get("x-stream-id");
    if (id) onId?.(id);
    if (response.status === 200) onOpen?.();
    return response;
  };
  // what may be billed is sent again only where the proxy remembers the request
  return { ...client, fetch, billsChatsOnce: true };
}

import type { Client } from "@sluice/core";
import { billOnce } from "@sluice/core/extend";

/** Receives the headers of a response, before its first token. */
interface HeaderListeners {
  /** Receives the id under which the proxy stores the stream. */
  readonly onId?: (streamId: string) => void;
  /** Runs when the response has begun. */
  readonly onOpen?: () => void;
}

/**
 * Creates a client for one message that reports its headers: the user may leave the page while the model still thinks.
 */
export function watchHeaders(client: Client, { onId, onOpen }: HeaderListeners): Client {
  const fetch: Client["fetch"] = async (...given) => {
    const response = await client.fetch(...given);
    const id = response.headers.get("x-stream-id");
    if (id) onId?.(id);
    if (response.status === 200) onOpen?.();
    return response;
  };
  return { ...billOnce(client), fetch };
}

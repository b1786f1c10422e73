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
 * Creates a client for one message that reports the headers of the response. A message can then be resumed although the
 * page closes before the first token.
 */
export function watchHeaders(client: Client, { onId, onOpen }: HeaderListeners): Client {
  const fetch: Client["fetch"] = async (...args) => {
    const response = await client.fetch(...args);
    const id = response.headers.get("x-stream-id");
    if (id) onId?.(id);
    if (response.status === 200) onOpen?.();
    return response;
  };
  return { ...billOnce(client), fetch };
}

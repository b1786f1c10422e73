import type { Client } from "../client.js";
import { requestOnce } from "../transport/request-once.js";
import { createStreamPath } from "./protocol/stream-path.js";

/** Stops a stored response, which the proxy would otherwise read to its end. Never rejects. */
export async function stopStored(
  client: Client,
  streamId: string,
  headers: RequestInit["headers"],
): Promise<void> {
  const path = createStreamPath(streamId);
  // `keepalive`: the request survives the end of the page
  const init = { method: "DELETE", keepalive: true, ...(headers && { headers }) };
  if (path) await requestOnce(client, path, init, ({ body }) => body?.cancel()).catch(() => {});
}

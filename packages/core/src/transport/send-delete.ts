import { loadRepeats } from "./load-repeats.js";
import type { Connection } from "./send.js";

/**
 * Asks a proxy to end what it still works on: a stored response, or a watched task. Never rejects, because the page has
 * already ended it.
 */
export async function sendDelete(
  client: Connection,
  path: string,
  headers?: RequestInit["headers"],
): Promise<void> {
  // `keepalive`: the request survives the end of the page
  const init = { method: "DELETE", keepalive: true, ...(headers && { headers }) };
  const loaded = await loadRepeats();
  await loaded?.requestOnce(client, path, init, ({ body }) => body?.cancel()).catch(() => {});
}

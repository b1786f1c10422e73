import { loadRepeats } from "./load-repeats.js";
import type { Connection } from "./send.js";

/**
 * Asks a proxy to end a stored response or the watch of a task. Never rejects, because for the page it has already
 * ended.
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

import type { Client } from "../client.js";
import type { requestOnce } from "../transport/request-once.js";

/**
 * Stops a stored response, which the proxy would otherwise read to its end. Never rejects.
 *
 * @param request `requestOnce`, which few pages load
 */
export async function stopStored(
  request: typeof requestOnce,
  client: Client,
  path: string,
  headers: RequestInit["headers"],
): Promise<void> {
  // `keepalive`: the request survives the end of the page
  const init = { method: "DELETE", keepalive: true, ...(headers && { headers }) };
  await request(client, path, init, ({ body }) => body?.cancel()).catch(() => {});
}

import type { CallIdentity } from "../types/events.js";
import { readHeaders } from "./headers.js";
import { resolveAddress } from "./resolve-address.js";
import { type Connection, pickIdentity } from "./send.js";

/**
 * Creates a request to another path of the gateway or the proxy, with the client's address, headers and cookies. It
 * follows no redirect, so the key only reaches the configured address.
 *
 * @param init as of `Request`. Its headers replace those of the client
 * @param call the call that the request belongs to. @default none
 */
export async function createRequest(
  client: Connection,
  path: string,
  init: RequestInit,
  call?: CallIdentity,
): Promise<Request> {
  const { credentials } = client;
  const headers = await client.headers(call ? pickIdentity(call) : { path: path.replace(/\?.*/, "") });
  for (const [name, value] of readHeaders(init.headers)) headers.set(name, value);
  return new Request(resolveAddress(client, path), {
    redirect: "manual",
    ...(credentials && { credentials }),
    ...init,
    headers,
  });
}

import type { CallIdentity } from "../types/events.js";
import { readHeaders } from "./headers.js";
import { resolveAddress } from "./resolve-address.js";
import { type Connection, pickIdentity } from "./send.js";

/**
 * Creates a request to another path of the gateway or the proxy, with the client's address, headers and cookies. It
 * follows no redirect, so the key only reaches the configured address. Send it with `client.fetch`.
 *
 * @param init as of `Request`. Its headers replace those of the client
 * @param call the call that the request belongs to, as `openExchange` returns it. @default the request belongs to no call
 * @throws {ConfigurationError} for a header that cannot be sent, and on a server for a relative `baseURL`
 * @example
 * ```ts
 * const request = await createRequest(client, "/v1/usage", { headers: { accept: "application/json" } });
 * const response = await client.fetch(request);
 * ```
 */
export async function createRequest(
  client: Connection,
  path: string,
  init: RequestInit = {},
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

/** Paths of the requests that create something. Queries have other paths. */
const CREATE_PATH = /\/(completions|generations|CreateAsset|(text|image|multi-image)2video)$/;

/**
 * Returns true for the path of a request that creates something and may be billed. Queries cost nothing.
 *
 * @example
 * ```ts
 * isCreatePath("/v1/images/generations"); // true
 * ```
 */
export function isCreatePath(path: string): boolean {
  return CREATE_PATH.test(path);
}

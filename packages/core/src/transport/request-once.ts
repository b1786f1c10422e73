import type { Connection } from "./send.js";

// imports only types, because few pages load it

/** Limit of such a request in milliseconds, because its connection may be lost silently. */
const TOTAL_MS = 30_000;

/**
 * Sends one request outside of the client's calls, with its headers. It is not retried and emits no events.
 *
 * @param init further settings. Its headers are added to the client's headers; its signal aborts the request
 * @param read reads or cancels the response's body
 * @throws a `DOMException` named `TimeoutError` after 30 s
 * @example
 * ```ts
 * const usage = await requestOnce(client, "/v1/usage", {}, (response) => response.json());
 * ```
 */
export async function requestOnce<T>(
  client: Connection,
  path: string,
  init: RequestInit,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const { credentials } = client;
  const headers = await client.headers({ path });
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const late = new AbortController();
  const ended = new AbortController();
  const { signal } = init;
  signal?.addEventListener("abort", () => late.abort(signal.reason), { signal: ended.signal });
  const request = new Request(client.baseURL + path, {
    ...init,
    headers,
    signal: late.signal,
    // no redirects: the key must only reach the configured address
    redirect: "manual",
    ...(credentials && { credentials }),
  });
  client.clock.sleep(TOTAL_MS, ended.signal).then(
    () => late.abort(new DOMException(`not finished after ${TOTAL_MS} ms`, "TimeoutError")),
    () => {},
  );
  try {
    return await read(await client.fetch(request));
  } finally {
    ended.abort(null);
  }
}

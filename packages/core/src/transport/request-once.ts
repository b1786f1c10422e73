import { openSpan } from "../base/clock.js";
import { createRequest } from "./create-request.js";
import type { Connection } from "./send.js";

/** Limit of one request in milliseconds, because its connection may be lost silently. */
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
  const createLateError = () => new DOMException(`not finished after ${TOTAL_MS} ms`, "TimeoutError");
  const { signal, end } = openSpan(client.clock, init.signal ?? undefined, TOTAL_MS, createLateError);
  try {
    return await read(await client.fetch(await createRequest(client, path, { ...init, signal })));
  } finally {
    end();
  }
}

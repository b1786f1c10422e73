import { openSpan, rejectOnAbort } from "../base/clock.js";
import { ConfigurationError, describeThrown, isGatewayError, TimeoutError } from "../types/errors.js";
import type { CallIdentity } from "../types/events.js";
import { createRequest } from "./create-request.js";
import { toConnectionError } from "./failure.js";
import { readRefusal } from "./read-refusal.js";
import type { Connection } from "./send.js";

/** Limit of such a request in milliseconds, because its connection may be lost silently. */
const TOTAL_MS = 30_000;

/**
 * Sends one request to another path of the gateway or the proxy, with the client's address, headers and cookies. It
 * follows no redirect, so the key only reaches the configured address. It is not retried and emits no events.
 *
 * @param init as of `Request`. Its headers replace those of the client; its signal aborts the request
 * @param read reads or cancels the body of the response
 * @throws {APIError} for an error status
 * @throws {ConnectionError} when no response came
 * @throws {TimeoutError} phase `total`, after 30 s
 * @throws {ConfigurationError} when the request can't be created; nothing was sent
 * @throws the signal's reason; the error of `read`
 * @example
 * ```ts
 * const usage = await sendRequest(client, "/v1/usage", {}, (response) => response.json());
 * ```
 */
export function sendRequest<T>(
  client: Connection,
  path: string,
  init: RequestInit,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  return fetchWithin(client, path, init, async (response, signal) => {
    if (!response.ok) throw await readRefusal(response, client, signal);
    return read(response);
  });
}

/** Sends one request like `sendRequest`. Also reads a response with an error status. */
export async function fetchWithin<T>(
  client: Connection,
  path: string,
  init: RequestInit,
  read: (response: Response, signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const createLateError = () => new TimeoutError(`not finished after ${TOTAL_MS} ms`, "total");
  const { signal, end } = openSpan(client.clock, init.signal ?? undefined, TOTAL_MS, createLateError);
  try {
    const request = await prepareRequest(client, path, { ...init, signal });
    return await read(await fetchOnce(client, request, signal), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    end();
  }
}

/**
 * Creates a request that can be aborted before it is sent.
 *
 * @param call the call that the request belongs to. @default none
 * @throws {ConfigurationError} when the request can't be created
 * @throws the signal's reason
 */
export function prepareRequest(
  client: Connection,
  path: string,
  init: RequestInit & { readonly signal: AbortSignal },
  call?: CallIdentity,
): Promise<Request> {
  const created = createRequest(client, path, init, call).catch((cause) => {
    if (isGatewayError(cause)) throw cause;
    const message = `the request could not be made, and was not sent: ${describeThrown(cause)}`;
    throw new ConfigurationError(message, { cause });
  });
  return rejectOnAbort(created, init.signal);
}

/**
 * Sends a request.
 *
 * @throws {ConnectionError} when no response came
 * @throws the signal's reason
 */
export async function fetchOnce(
  client: Connection,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await rejectOnAbort(client.fetch(request), signal);
  } catch (error) {
    throw signal.aborted || isGatewayError(error) ? error : toConnectionError(error);
  }
}

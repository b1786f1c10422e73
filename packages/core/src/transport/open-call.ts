import type { Clock, Span } from "../base/clock.js";
import type { APIError } from "../types/errors.js";
import type { CallStep } from "../types/events.js";
import { readHeaders } from "./headers.js";
import { createRetryClock } from "./pauses.js";
import { readChunks } from "./read-body.js";
import { readRefusal } from "./read-refusal.js";
import {
  type CallDescription,
  type Connection,
  closeExchange,
  emitStep,
  openExchange,
  type RequestOptions,
} from "./send.js";
import { fetchOnce, prepareRequest } from "./send-request.js";

/**
 * Opens a call of an add-on, with the time limits and the events of the client's own calls. `signal` aborts when a limit
 * or the caller ends the call. Close it with `close`, or with `end` for a call without events. For a request without
 * events, `sendRequest` is enough.
 *
 * @throws {ConfigurationError} if `createClient` did not create `client`
 * @example
 * ```ts
 * const call = openCall(client, { kind: "upload", path: "/v1/uploads" }, { signal });
 * try {
 *   await call.fetch("/v1/uploads", { method: "POST", body: file });
 *   call.close();
 * } catch (error) {
 *   call.close({ error });
 *   throw error;
 * }
 * ```
 */
export function openCall(client: Connection, description: CallDescription, options: RequestOptions) {
  const exchange = openExchange(client, description, options);
  let attempt = 0;
  return {
    ...exchange,
    /**
     * Sends one request of the call, as `sendRequest` does, and emits its events. Adds the `headers` of the options. Its
     * signal defaults to the call's.
     *
     * @throws the errors of `sendRequest`
     */
    async fetch(path: string, init: RequestInit = {}): Promise<Response> {
      const signal = init.signal ?? exchange.signal;
      const headers = readHeaders(options.headers);
      for (const [name, value] of readHeaders(init.headers)) headers.set(name, value);
      const request = await prepareRequest(client, path, { ...init, headers, signal }, exchange);
      attempt += 1;
      emitStep(client, exchange, { type: "request", attempt });
      const startedAt = client.clock.now();
      const response = await fetchOnce(client, request, signal);
      const durationMs = client.clock.now() - startedAt;
      emitStep(client, exchange, { type: "response", attempt, status: response.status, durationMs });
      if (!response.ok) throw await readRefusal(response, client, signal);
      return response;
    },
    /** Reads the error of a response with an error status that the call did not fetch itself. */
    readRefusal: (response: Response): Promise<APIError> => readRefusal(response, client, exchange.signal),
    /** Emits one step of the call. */
    emit: (step: CallStep): Promise<unknown> => emitStep(client, exchange, step),
    /**
     * Reads the body of a response in pieces, within `timeout.chunkMs`.
     *
     * @param within the span of one of several requests. @default the call
     */
    read: (
      response: Response,
      within: Pick<Span, "signal" | "abort"> = exchange,
    ): AsyncIterable<Uint8Array> => readChunks(client, { ...exchange, ...within }, response),
    /** Clock for the waits between the attempts of the call. `retryNow` ends these waits. */
    createRetryClock: (): Clock => createRetryClock(client, exchange.callId),
    /** Closes the call: emits its `end`, and sets the `billing` of an error. */
    close: (failure?: {
      /** Error of the call. */
      readonly error: unknown;
    }): void => closeExchange(client, exchange, {}, failure),
  };
}

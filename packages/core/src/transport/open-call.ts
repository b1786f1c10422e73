import type { Clock, Span } from "../base/clock.js";
import type { CallStep } from "../types/events.js";
import { createRetryClock } from "./pauses.js";
import { readChunks } from "./read-body.js";
import {
  type CallDescription,
  type Connection,
  closeExchange,
  emitStep,
  openExchange,
  type RequestOptions,
} from "./send.js";

/**
 * Opens a call of an add-on, with the time limits and the events of the client's own calls. `signal` aborts when a limit
 * or the caller ends the call. Close it with `close`, or with `end` for a call without events.
 *
 * @throws {ConfigurationError} if `createClient` did not create `client`
 * @example
 * ```ts
 * const call = openCall(client, { kind: "upload", path: "/v1/uploads" }, { signal });
 * try {
 *   await client.fetch(await createRequest(client, "/v1/uploads", { method: "POST", body: file }, call));
 *   call.close();
 * } catch (error) {
 *   call.close({ error });
 *   throw error;
 * }
 * ```
 */
export function openCall(client: Connection, description: CallDescription, options: RequestOptions) {
  const exchange = openExchange(client, description, options);
  return {
    ...exchange,
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

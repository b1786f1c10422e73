import type { Client } from "./client.js";
import type { ClientEvent } from "./vocabulary/events.js";

/**
 * Calls `listener` with each later event of a client, after the option `onEvent`. Use it in code that did not create
 * the client, such as a library or a panel. The client still prints warnings: only `onEvent` stops that. Errors of
 * `listener` are reported as uncaught and change nothing. A listener added twice runs twice. An attempt is sent when the
 * promises that listeners return for its `request` have settled, so that a record of it can be stored before.
 *
 * @returns a function that unsubscribes, also during an event
 * @example
 * ```ts
 * const unsubscribe = subscribeToEvents(client, (event) => {
 *   if (event.type === "end") console.log(event.kind, event.outcome, event.durationMs);
 * });
 * ```
 */
export function subscribeToEvents(
  { listeners }: Pick<Client, "listeners">,
  listener: (event: ClientEvent) => unknown,
): () => void {
  const entry = (event: ClientEvent) => listener(event);
  listeners.add(entry);
  return () => void listeners.delete(entry);
}

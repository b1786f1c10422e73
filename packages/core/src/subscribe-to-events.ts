import type { Client } from "./client.js";
import type { ClientEvent } from "./vocabulary/events.js";

/**
 * Calls `listener` with each event of a client from now on, after the option `onEvent`: for code that did not create
 * the client, such as a library or a panel. Warnings are printed as before: only `onEvent` stops that. An error that
 * `listener` throws is reported as uncaught and changes nothing. A listener that is added twice is called twice.
 *
 * @returns a function that ends the subscription, also while an event is emitted
 * @example
 * ```ts
 * const unsubscribe = subscribeToEvents(client, (event) => {
 *   if (event.type === "end") console.log(event.kind, event.outcome, event.durationMs);
 * });
 * ```
 */
export function subscribeToEvents(
  { listeners }: Pick<Client, "listeners">,
  listener: (event: ClientEvent) => void,
): () => void {
  const entry = (event: ClientEvent) => listener(event);
  listeners.add(entry);
  return () => void listeners.delete(entry);
}

import type { Checked, ProxyPlugin } from "./api/plugin.js";
import { definePlugin } from "./define-plugin.js";
import { ensure } from "./refusals/read-option.js";

/** Receives the events of a proxy. `GET /health` runs its `checks`. */
export type EventListener<Env = unknown> = NonNullable<ProxyPlugin<Env>["onEvent"]> & Checked<Env>;

/**
 * Reports each request when its response is over, and each job of the plugins, for logs and metrics. An event contains no
 * body, header or key. An error that the listener throws is in the log, and breaks no response.
 *
 * @throws {TypeError} for anything but a function
 * @example
 * ```ts
 * const plugins = [events<Env>((event) => console.log(JSON.stringify(event)))];
 * ```
 */
export function events<Env = unknown>(listener: EventListener<Env>): ProxyPlugin<Env> {
  ensure(typeof listener === "function", "events: give a function, (event) => console.log(event)");
  return definePlugin({ onEvent: listener, ...(listener.checks && { checks: listener.checks }) });
}

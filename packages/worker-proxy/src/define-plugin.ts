import type { ProxyPlugin } from "./api/plugin.js";
import { runPlugins } from "./run-plugins.js";

/**
 * Defines a plugin of `createProxy`. The code that runs plugins comes with it, so a Worker without plugins does not contain
 * that code.
 *
 * @returns the same object
 * @example
 * ```ts
 * const pause: ProxyPlugin<Env> = definePlugin({
 *   async checkRequest({ env }) {
 *     if (env.PAUSED) throw new Refusal("custom", { error: { status: 503, code: "paused", message: "paused" } });
 *   },
 * });
 * ```
 */
export function definePlugin<Plugin extends ProxyPlugin<never>>(plugin: Plugin): Plugin {
  return Object.assign(plugin, { run: runPlugins });
}

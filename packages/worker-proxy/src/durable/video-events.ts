import type { Admitted } from "../admitted.js";
import { readBinding } from "../env.js";
import type { Extension } from "../extension.js";
import { hashOf, objectNamed } from "./object-name.js";
import type { ObjectNamespace } from "./platform.js";

/**
 * Adds `GET /v1/video/generations/{id}/events` to a proxy, and says so to clients: a task's changes as they come,
 * pushed over SSE by a `VideoWatch` that asks once for all tabs. `@sluice/core` uses it by itself, and asks
 * again as before when it is not there.
 *
 * The stream: `event: task` with the gateway's envelope, now and at each change; at last `event: end`, or
 * `event: error` with an error's body. One that stops without these was cut: ask again with `Last-Event-ID`.
 *
 * @param namespace the binding to the class that `videoWatch` made
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, routes: ["videos"], extensions: [videoEvents((env) => env.VIDEO_WATCH)] });
 * ```
 */
export function videoEvents<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
): Extension<Env> {
  const bound = (env: Env) => readBinding("videoEvents", namespace, env);
  return {
    checks: [bound],
    offers: { videos: "video-events" },
    routes: [{ name: "videos", method: "GET", path: "/v1/video/generations/{id}/events", id: "task", serve }],
  };

  async function serve({ request, env, user, id = "", sentId = id }: Admitted<Env>): Promise<Response> {
    const watch = objectNamed(bound(env), `${await hashOf(user.id)}:${id}`);
    const seen = request.headers.get("last-event-id");
    const subscription = new Request(`https://video-watch/${id}?as=${encodeURIComponent(sentId)}`, {
      // of the client's headers, credentials among them, no other goes on
      headers: seen === null ? {} : { "last-event-id": seen },
      signal: request.signal,
    });
    return await watch.fetch(subscription);
  }
}

import type { AdmittedRequest, OnJobEvent, ProxyPlugin } from "@sluice/worker-proxy";
import { hashOf, limited, logError, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import { askObject, type ObjectNamespace, objectNamed } from "../objects/object.js";
import { userIndexIn } from "../objects/user-index.js";
import { watchData, watchOperations } from "./data.js";
import type { CreatedTask } from "./task.js";

/** Options of {@link videoEvents}. */
export interface VideoEventsOptions<Env = unknown> {
  /**
   * The start of a watch. `subscribe`: when the first page listens; it ends an hour after the last one left. `create`:
   * when the gateway has answered the create with an id; it goes on without a page, and answers all polls of the task.
   * @default "subscribe"
   */
  readonly startOn?: "create" | "subscribe";
  /** Receives a `watch` event, `dropped`, for each task whose watch could not be started. @default none */
  readonly onEvent?: OnJobEvent<Env>;
}

/** Longest time for which the answer to a create waits for the start of its watch, in milliseconds. */
const START_MS = 5_000;

/**
 * Adds `GET /v1/video/generations/{id}/events` to a proxy, and announces it to clients: changes of a task, pushed over
 * SSE by a {@link videoWatch} object that polls once for all tabs. `@sluice/core` uses it by itself, and polls where it
 * is missing.
 *
 * The stream: `event: task` with the gateway's envelope, now and at each change; at last `event: end`, or `event: error`
 * with an error's body. A stream that stops without one of these was cut: ask again with `Last-Event-ID`.
 *
 * With `startOn: "create"` the objects also answer `GET /v1/video/generations/{id}`, so that the gateway is asked at most
 * once in `intervalMs` for each task. `DELETE /v1/video/generations/{id}/events` says that its user has removed the task.
 *
 * @param namespace the binding to the class that `videoWatch` made
 * @example
 * ```ts
 * const events = videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create" });
 * export default createProxy<Env>({ ...options, routes: ["videos"], plugins: [events] });
 * ```
 */
export function videoEvents<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
  { startOn = "subscribe", onEvent }: VideoEventsOptions<Env> = {},
): ProxyPlugin<Env> {
  const bound = (env: Env) => readBinding("videoEvents", namespace, env);
  const isSteady = startOn === "create";
  const events = { name: "videos", path: "/v1/video/generations/{id}/events", id: "task" } as const;
  return {
    checks: [bound],
    offers: { videos: isSteady ? "video-events, video-watch" : "video-events" },
    routes: [
      { ...events, method: "GET", serve },
      { ...events, method: "DELETE", serve: (admitted) => reach(admitted, "", { method: "DELETE" }) },
    ],
    ...(isSteady && { send, answered }),
    userData: watchData(bound),
    operations: watchOperations(bound),
  };

  function serve(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { signal, headers } = admitted.request;
    const seen = headers.get("last-event-id");
    // the only header of the client's that goes on: the others hold credentials
    return reach(admitted, "", { headers: seen === null ? {} : { "last-event-id": seen }, signal });
  }

  /** Answers a poll from the object. */
  function send(admitted: AdmittedRequest<Env>): Promise<Response> | undefined {
    return admitted.route === "videos" && admitted.id !== undefined
      ? reach(admitted, "/task", {})
      : undefined;
  }

  async function answered(admitted: AdmittedRequest<Env>, receipt: unknown): Promise<void> {
    const { route, body, user, id = "", sentId = "", model, headers, env } = admitted;
    if (route !== "videos" || !body) return;
    const requestId = headers?.["x-request-id"];
    const created: CreatedTask = { userId: user.id, sentId, model, requestId };
    const asked = { method: "POST", body: JSON.stringify({ created, receipt }) };
    // listed first, so that a watch that begins can be erased
    await list(admitted, LISTED_MS);
    const start = () => limited(START_MS, (signal) => reach(admitted, "", { ...asked, signal }));
    // a second try, because objects restart
    const started = start().catch(start);
    await started.catch(() => {
      logError(`videoEvents: the watch of task ${id} (request ${requestId}) could not be started`);
      const code = "object_unavailable";
      const facts = { taskId: id, user: user.id, model, requestId };
      notifyOf(onEvent, { kind: "watch", id, outcome: "dropped", code, ...facts }, env);
    });
  }

  /** Notes a watch in the index of its user, by which it can be found again. */
  async function list({ env, user, id = "" }: AdmittedRequest<Env>, keptMs: number): Promise<void> {
    try {
      const index = userIndexIn(await bound(env), await hashOf(user.id));
      await index.end({ id, keptUntil: Date.now() + keptMs });
    } catch {
      logError(`videoEvents: task ${id} could not be listed; eraseUser does not find its watch`);
    }
  }

  async function reach(admitted: AdmittedRequest<Env>, path: string, init: RequestInit): Promise<Response> {
    const { env, user, id = "", sentId = id } = admitted;
    const watch = objectNamed(await bound(env), await nameOf(user.id, id));
    const query = new URLSearchParams({ as: sentId, ...(isSteady && { steady: "1" }) });
    const request = new Request(`https://video-watch/${id}${path}?${query}`, init);
    // no part of an address, which the platform's logs show
    request.headers.set(USER, encodeURIComponent(user.id));
    const answer = await askObject(watch, request);
    const keptMs = Number(answer.headers.get(KEPT));
    // a created one is listed already, for less if it keeps its end for long
    const isListed = init.method === "POST" && keptMs < LISTED_MS / 2;
    if (keptMs > 0 && !isListed) await list(admitted, keptMs + LISTED_MS);
    return answer;
  }
}

/** Header with the time for which a watch that is to be listed keeps its end, in milliseconds. */
export const KEPT = "x-sluice-kept";
/** Time for which a watch is listed beyond the time for which it keeps its end, in milliseconds. */
const LISTED_MS = 31 * 24 * 60 * 60_000;

/** Header with the id of the user, encoded as a part of an address. */
export const USER = "x-sluice-user";

/** Returns the name of the object that watches a user's task. */
export async function nameOf(userId: string, taskId: string): Promise<string> {
  return `${await hashOf(userId)}:${taskId}`;
}

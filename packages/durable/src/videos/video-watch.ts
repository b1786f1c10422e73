import type { Job, PluginServer, ProxyPlugin, StoredPart } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import { checkMilliseconds, checkNames } from "../shared/check-options.js";
import { findEndWork } from "./end-handler.js";
import type { EndHandlers } from "./end-handlers.js";
import { defineFollow } from "./follow.js";
import { pollTask, type WatchParts } from "./jobs.js";
import { createPollOperations } from "./polls.js";
import { WATCH_TABLES } from "./rows.js";
import { createServe } from "./serve.js";
import { FORGET, POLL, type RowId } from "./timers.js";
import { createUserData, createWatchOperations } from "./user-data.js";
import { createDeletions, WATCH_OPERATIONS } from "./watches.js";

/** Options of {@link videoWatch}. */
export interface VideoWatchOptions<Env = unknown> {
  /**
   * Pause between two polls of a task, in milliseconds: 2_000 to 60_000. The interface suggests about 15 s (`GET
   * /v1/video/generations/{id}`): set less for a gateway that is quicker and has room for it.
   * @default 15_000
   */
  readonly intervalMs?: number;
  /**
   * Time for which the end of a task is stored, in milliseconds. A page that returns within it gets the end without a
   * request to the gateway.
   * @default 604_800_000 (7 days) for a task that is watched from its create, 600_000 for others
   */
  readonly retentionMs?: number;
  /**
   * The start of a watch. `create`: with the gateway's response to the create. Such a watch needs no open page, and serves
   * all polls of the task. `subscribe`: with the first page that listens. Such a watch ends an hour after the last page
   * has left.
   * @default "create" with `onEnd`, otherwise "subscribe"
   */
  readonly startOn?: "create" | "subscribe";
  /** Work after the end of a task that was watched from its create: `endHandlers(webhook(…))`. @default none */
  readonly onEnd?: EndHandlers<Env> | undefined;
}

const INTERVAL_MS = { min: 2_000, usual: 15_000, max: 60_000 };

/**
 * Watches video tasks: the proxy polls each task once, for all tabs of its user, and pushes the changes to them. It opens
 * `GET /v1/video/generations/{id}/events`, which `@sluice/core` uses automatically.
 *
 * The stream: `event: task` with the gateway's envelope, now and at each change; at last `event: end`, or `event: error`
 * with the body of an error. A stream that stops without one of these was cut: open it again with `Last-Event-ID`.
 *
 * A task is polled 5 s after the create, then every `intervalMs`, and once a minute if no page has listened for 5 minutes.
 * No single response ends a watch. It ends with a final state, after some minutes of 404, and after 24 hours.
 * `DELETE /v1/video/generations/{id}/events` says that its user has removed the task.
 *
 * @throws {TypeError} if an option cannot work
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: "https://app.example.com/hooks/video", secret: (env) => env.WEBHOOK_SECRET });
 * export default createProxy<Env>({
 *   ...options,
 *   routes: [videos],
 *   host: nodeHost({ file: "sluice.db" }),
 *   plugins: [videoWatch<Env>({ onEnd: endHandlers(hook) })],
 * });
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env> = {}): ProxyPlugin<Env> {
  const { onEnd, ...rules } = checkOptions(options);
  const { isSteady } = rules;
  let connected: PluginServer<Env> | undefined;
  const work = onEnd?.createWork();
  const offered = () => findEndWork<Env>(server().plugins);
  const getEnds = () => (work ?? offered()[0])?.rows;
  const operations = { ...createPollOperations(getEnds), ...createDeletions(getEnds) };
  const parts: WatchParts<Env> = { server, rules, operations, work, offered };
  const follow = defineFollow(parts);
  const { forgetTask } = operations;
  const jobs: readonly Job<RowId>[] = [
    { ...POLL, run: (context, { id }) => pollTask(parts, context, id) },
    { ...FORGET, run: async ({ host, key }, { id }) => void (await host.run(key, forgetTask, { id })) },
  ];
  const events = { name: "videos", path: "/v1/video/generations/{id}/events", id: "task" } as const;
  const { serveEvents, removeTask, send, answered } = createServe(parts, follow);
  return {
    checks: work?.checks ?? [],
    offers: { videos: isSteady ? "video-events, video-watch" : "video-events" },
    routes: [
      { ...events, method: "GET", serve: serveEvents },
      { ...events, method: "DELETE", serve: removeTask },
    ],
    storage: {
      tables: [...WATCH_TABLES, ...(work?.storage.tables ?? [])],
      operations: [
        ...WATCH_OPERATIONS,
        ...Object.values(operations),
        ...(work?.storage.operations ?? []),
      ] as StoredPart["operations"],
      jobs: [...jobs, ...(work?.storage.jobs ?? [])],
      sources: [follow],
    },
    connect(given: PluginServer<Env>) {
      ensure(!connected, "videoWatch: belongs to one proxy; make another one");
      connected = given;
      work?.connect(connected);
    },
    ...(isSteady && { send, answered }),
    userData: createUserData(parts),
    operations: [...createWatchOperations(parts), ...(work?.operations ?? [])],
  };

  function server(): PluginServer<Env> {
    ensure(connected, "videoWatch: give it to the plugins of a proxy");
    return connected;
  }
}

/** @throws {TypeError} for an option that cannot work */
function checkOptions<Env>(options: VideoWatchOptions<Env>) {
  const { intervalMs = INTERVAL_MS.usual, retentionMs, onEnd } = options;
  const { startOn = onEnd ? "create" : "subscribe", ...rest } = options;
  checkNames("videoWatch", rest, ["intervalMs", "retentionMs", "onEnd"]);
  const { min, max } = INTERVAL_MS;
  ensure(
    Number.isSafeInteger(intervalMs) && intervalMs >= min && intervalMs <= max,
    `videoWatch: intervalMs: give a whole number from ${min} to ${max}`,
  );
  if (retentionMs !== undefined) checkMilliseconds("videoWatch: retentionMs", retentionMs);
  const isStart = startOn === "create" || startOn === "subscribe";
  ensure(isStart, 'videoWatch: startOn: give "create" or "subscribe"');
  const areHandlers = onEnd === undefined || typeof onEnd?.createWork === "function";
  ensure(areHandlers, "videoWatch: onEnd: give endHandlers(webhook(…))");
  ensure(
    !onEnd || startOn === "create",
    'videoWatch: onEnd: works with startOn: "create" alone; leave startOn out',
  );
  return { intervalMs, retentionMs: retentionMs ?? null, isSteady: startOn === "create", onEnd };
}

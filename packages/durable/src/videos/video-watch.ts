import type { ProxyPlugin } from "@sluice/worker-proxy";
import { definePlugin, ensure, type Job, type StoredPart } from "@sluice/worker-proxy/plugin";
import { persistentJob } from "../host/define.js";
import { checkMilliseconds, checkNames } from "../shared/check-options.js";
import { connectOnce } from "../shared/connect-once.js";
import { createDeadLetterOperations, deadLetterStorage } from "./dead-letters.js";
import { deliverEnd, nameHandlers } from "./deliver.js";
import { DELIVER, DELIVERY_OPERATIONS, DELIVERY_TABLES } from "./deliveries.js";
import type { EndHandler } from "./ends.js";
import { createEventSource } from "./events.js";
import { WATCH_TABLES } from "./rows.js";
import { createWatchHandlers } from "./serve.js";
import { createUserData } from "./user-data.js";
import { POLL, type RowId, WATCH_OPERATIONS } from "./watches.js";

/** Options of {@link videoWatch}. */
export interface VideoWatchOptions<Env = unknown> {
  /**
   * Pause between two polls of a task, in milliseconds: 2_000 to 60_000. The gateway's API suggests about 15 s for
   * `GET /v1/video/generations/{id}`. Set less for a faster gateway that allows it.
   * @default 15_000
   */
  readonly intervalMs?: number;
  /**
   * Time for which the end of a task is stored, in milliseconds. During this time, clients get the end without a
   * request to the gateway.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number;
  /** Handlers of the end of a task: `webhook(…)`, or functions of the app. @default none */
  readonly onEnd?: readonly EndHandler<Env>[];
}

const INTERVAL_MS = { min: 2_000, fallback: 15_000, max: 60_000 };
const RETENTION_MS = 7 * 24 * 60 * 60_000;

/**
 * Watches video tasks. The proxy polls each task from its creation, for all tabs of its user and also without an open
 * tab. It pushes changes to clients through `GET /v1/video/generations/{id}/events`, which `@sluice/core` uses
 * automatically.
 *
 * The stream sends `event: task` with the gateway's envelope, immediately and after each change. It ends with
 * `event: end`, or with `event: error` and the body of an error. A stream that closes without either event was cut:
 * open it again with `Last-Event-ID`.
 *
 * The first poll follows 5 s after the create (or `intervalMs`, if shorter). Further polls follow every `intervalMs`,
 * and once a minute for old tasks. A single failure does not end a watch. A watch ends with a final state, after 5
 * minutes of 404 responses, or after 24 hours. A task that was created elsewhere is watched from the first query of a
 * client. `DELETE /v1/video/generations/{id}/events` marks the task as removed by its user.
 *
 * @throws {TypeError} if an option is invalid
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: "https://app.example.com/hooks/video", secret: (env) => env.WEBHOOK_SECRET });
 * export default createProxy<Env>({
 *   ...options,
 *   routes: [videos],
 *   host: nodeHost({ file: "sluice.db" }),
 *   plugins: [videoWatch<Env>({ onEnd: [hook] })],
 * });
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env> = {}): ProxyPlugin<Env> {
  const { rules, onEnd } = checkOptions(options);
  const { connect, getServer } = connectOnce<Env>("videoWatch");
  const handlers = nameHandlers(onEnd);
  const events = createEventSource(getServer);
  const watch = createWatchHandlers({ getServer, rules, handlers: [...handlers.keys()], events });
  const deliver: Job<RowId>["run"] = (context, input) => deliverEnd(getServer(), handlers, context, input);
  // the second attempt of these jobs only stores that the first attempt was lost, so it can always run
  const jobs: readonly Job<RowId>[] = [
    persistentJob(POLL.name, watch.pollTask),
    persistentJob(DELIVER.name, deliver),
  ];
  const route = { name: "videos", path: "/v1/video/generations/{id}/events", id: "task" } as const;
  return definePlugin({
    checks: onEnd.flatMap(({ checks = [] }) => checks),
    features: { videos: "video-events, video-watch" },
    routes: [
      { ...route, method: "GET", serve: watch.serveEvents },
      { ...route, method: "DELETE", serve: watch.removeTask },
    ],
    storage: {
      tables: [...WATCH_TABLES, ...DELIVERY_TABLES, ...deadLetterStorage.tables],
      operations: [
        ...WATCH_OPERATIONS,
        ...DELIVERY_OPERATIONS,
        ...deadLetterStorage.operations,
      ] as StoredPart["operations"],
      jobs: [...jobs, ...(deadLetterStorage.jobs ?? [])],
      sources: [events],
    },
    connect,
    send: watch.send,
    responded: watch.responded,
    userData: createUserData(getServer),
    ...(onEnd.length > 0 && { operations: createDeadLetterOperations((env: Env) => getServer().host(env)) }),
  });
}

/** @throws {TypeError} for an invalid option */
function checkOptions<Env>(options: VideoWatchOptions<Env>) {
  const { intervalMs = INTERVAL_MS.fallback, retentionMs = RETENTION_MS, onEnd = [] } = options;
  checkNames("videoWatch", options, ["intervalMs", "retentionMs", "onEnd"]);
  const { min, max } = INTERVAL_MS;
  ensure(
    Number.isSafeInteger(intervalMs) && intervalMs >= min && intervalMs <= max,
    `videoWatch: intervalMs: give a whole number from ${min} to ${max}`,
  );
  checkMilliseconds("videoWatch: retentionMs", retentionMs);
  const areHandlers = Array.isArray(onEnd) && onEnd.every((handler) => typeof handler === "function");
  ensure(areHandlers, "videoWatch: onEnd: give a list of functions, [webhook(…)]");
  return { rules: { intervalMs, retentionMs }, onEnd };
}

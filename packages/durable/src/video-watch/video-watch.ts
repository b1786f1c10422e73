import type { JobEvent, OnJobEvent } from "@sluice/worker-proxy";
import { notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import { keepLetter, withDeadLetters } from "../notices/dead-letter-object.js";
import { classOf, type DurableObjectClass, type ObjectNamespace } from "../objects/object.js";
import { withUserIndex } from "../objects/user-index.js";
import type { EndHandler } from "./end.js";
import { openVideoWatch } from "./object.js";
import type { WatchParts } from "./parts.js";
import { INTERVAL_MS, LONGEST_INTERVAL_MS, SHORTEST_INTERVAL_MS } from "./task.js";
import { createTaskQuery, type GatewayOptions } from "./task-query.js";

/** Options of {@link videoWatch}: the way to the gateway, as `createProxy` takes it, and times. */
export interface VideoWatchOptions<Env = unknown> extends GatewayOptions<Env> {
  /**
   * Pause between two polls of a task, in milliseconds: 2_000 to 60_000. The spec suggests about 15 s (`GET
   * /v1/video/generations/{id}`): set less for a gateway that is quicker and has room for it.
   * @default 15_000
   */
  readonly intervalMs?: number | ((env: Env) => number);
  /**
   * Time for which the end of a task is kept, in milliseconds. Pages that come back within it get the end without a
   * request to the gateway.
   * @default 604_800_000 (7 days) for a task that is watched from its create, 600_000 for others
   */
  readonly rememberMs?: number;
  /**
   * Work after the end of a task that was watched from its create: `afterEnd(…)` tells the app.
   * @default none
   */
  readonly onEnd?: EndHandler<Env>;
  /**
   * The binding to this class. With it a notice that is given up becomes a dead letter: see `deadLetters`.
   * @default none is kept
   */
  readonly namespace?: (env: Env) => ObjectNamespace | undefined;
  /**
   * Receives an event of kind `watch` at the end of each watch, and the events of notices: each failed attempt and the
   * end of a webhook. An event comes once, after its cause was stored; where the object is lost right then, it does not
   * come.
   * @default none
   */
  readonly onEvent?: OnJobEvent<Env>;
}

/**
 * Makes the class of Durable Objects that each watch one video task, by alarms, for any number of tabs. An object polls
 * 5 s after the first answer, then less and less often, until it polls every `intervalMs` (15 s). Without a reader for
 * 5 minutes it polls every 60 s. It stops at the final state, after 24 hours, or after an hour without a reader. A task
 * that is watched from its create is polled 5 s after it, then at most once in `intervalMs`, and needs no reader. The
 * object keeps the newest answer, never the key, and deletes it `rememberMs` after the end.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const VideoWatch = videoWatch<Env>(gateway);
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env>): DurableObjectClass<Env> {
  const { intervalMs = INTERVAL_MS, rememberMs, onEnd, namespace, onEvent, ...gateway } = options;
  if (typeof intervalMs === "number") checkInterval(intervalMs);
  if (rememberMs !== undefined && !(Number.isSafeInteger(rememberMs) && rememberMs >= 1))
    throw new TypeError("rememberMs: give a whole number from 1 up");
  const query = createTaskQuery(gateway);
  return classOf((state, env) => {
    const report = (event: JobEvent) => notifyOf(onEvent, event, env);
    const parts: WatchParts = {
      poll: (id) => query(id, env),
      intervalMs: checkInterval(typeof intervalMs === "number" ? intervalMs : intervalMs(env)),
      rememberMs,
      onEnd: onEnd && ((ended, work) => onEnd(ended, { env, report, ...work })),
      keepLetter:
        namespace &&
        (async (letter) => keepLetter(await readBinding("videoWatch: namespace", namespace, env), letter)),
      report,
    };
    const letters = { namespace: () => namespace?.(env), report };
    return withUserIndex(state, () => withDeadLetters(openVideoWatch(state, parts), state, letters));
  });
}

function checkInterval(ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= SHORTEST_INTERVAL_MS && ms <= LONGEST_INTERVAL_MS) return ms;
  throw new TypeError(
    `intervalMs: give a whole number from ${SHORTEST_INTERVAL_MS} to ${LONGEST_INTERVAL_MS}`,
  );
}

import type { AdmittedRequest, JobContext, PluginServer, ProxyPlugin } from "@sluice/worker-proxy";
import { ensure, limited, Refusal, type Server, serverIn } from "@sluice/worker-proxy/internal";
import { deadLetterStorage } from "../dead-letters/dead-letter-rows.js";
import { createLetterOperations } from "../dead-letters/dead-letters.js";
import { job } from "../host/define.js";
import { defineDeliveries, type RowId } from "./deliveries.js";
import { type EndHandler, NamedHandlers, renameTask } from "./end-handler.js";
import { defineFollow, openBody } from "./follow.js";
import { deliverEnd, listDeadLetter, pollTask, type WatchParts } from "./jobs.js";
import { definePolls } from "./polls.js";
import { createWatchRefusal } from "./refusals.js";
import { rejectOnAbort } from "./reject-on-abort.js";
import { WATCH_TABLES } from "./rows.js";
import { type CreatedTask, canResume, type WatchedTask } from "./task.js";
import { type FailedResponse, readTask } from "./task-response.js";
import { createUserData, createUserKey, createWatchOperations } from "./user-data.js";
import { defineWatches, MAX_OPEN_WATCHES, READER_NOTE_MS } from "./watches.js";

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
  /** Work after the end of a task that was watched from its create: `webhook(…)`, or functions of the app. @default none */
  readonly onEnd?: readonly EndHandler<Env>[];
}

const INTERVAL_MS = { min: 2_000, usual: 15_000, max: 60_000 };
/** Longest time for which the response to a create waits for the start of its watch, in milliseconds. */
const START_MS = 5_000;
/** More attempts than a job of a watch ever needs: only the rules of the watch end it. */
const ENDLESS = 100_000;

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
 *   routes: ["videos"],
 *   host: nodeHost({ file: "sluice.db" }),
 *   plugins: [videoWatch<Env>({ onEnd: [hook] })],
 * });
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env> = {}): ProxyPlugin<Env> {
  const { intervalMs, retentionMs, isSteady, onEnd } = checkOptions(options);
  let connected: Server<Env> | undefined;
  const handlers = new NamedHandlers(onEnd);
  const jobs = {
    poll: job("videos.poll", ENDLESS, (context, { id }: RowId) => pollTask(parts, context, id)),
    deliver: job("videos.deliver", ENDLESS, (context: JobContext, input: RowId) =>
      deliverEnd(parts, context, input),
    ),
    listDeadLetter: job("videos.listDeadLetter", ENDLESS, (context: JobContext, input: RowId) =>
      listDeadLetter(parts, context, input),
    ),
    forget: job("videos.forget", ENDLESS, async ({ host, key }: JobContext, { id }: RowId) => {
      await host.run(key, watches.forgetTask, { id });
    }),
  };
  const deliveries = defineDeliveries(jobs);
  const rules = {
    intervalMs,
    retentionMs,
    isSteady,
    getHandlers: (isCreated: boolean) => handlers.getNames(isCreated),
  };
  const watches = defineWatches(jobs, rules, deliveries);
  const polls = definePolls(jobs, rules, deliveries);
  const parts: WatchParts<Env> = { server, watches, polls, deliveries, handlers };
  const follow = defineFollow(() => parts);
  const { add: _, cancel: __, ...deliveryOperations } = deliveries;
  const events = { name: "videos", path: "/v1/video/generations/{id}/events", id: "task" } as const;
  const openHost = (env: Env) => server().host(env);
  return {
    checks: onEnd.flatMap(({ checks = [] }) => checks),
    offers: { videos: isSteady ? "video-events, video-watch" : "video-events" },
    routes: [
      { ...events, method: "GET", serve: serveEvents },
      { ...events, method: "DELETE", serve: removeTask },
    ],
    storage: {
      tables: [...WATCH_TABLES, ...deadLetterStorage.tables],
      operations: [
        ...Object.values(watches),
        ...Object.values(polls),
        ...Object.values(deliveryOperations),
        ...deadLetterStorage.operations,
      ],
      jobs: [...Object.values(jobs), ...(deadLetterStorage.jobs ?? [])],
      sources: [follow],
    },
    connect(given: PluginServer<Env>) {
      connected = serverIn(given);
      handlers.addOffered(connected.settings.plugins);
    },
    ...(isSteady && { send, answered }),
    userData: createUserData(parts),
    operations: [...createWatchOperations(parts), ...createLetterOperations(openHost, deliveries.resend)],
  };

  function server(): Server<Env> {
    ensure(connected, "videoWatch: give it to the plugins of a proxy");
    return connected;
  }

  async function serveEvents(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { env, user, id = "", sentId = id, request, isPublic = false } = admitted;
    const host = openHost(env);
    const key = await createUserKey(user.id);
    checkOpened(
      await host.run(key, watches.open, {
        id,
        userId: user.id,
        firstPollInMs: 0,
        maxOpen: getMaxOpen(admitted),
      }),
    );
    const lastEventId = request.headers.get("last-event-id");
    const stream = await host.open(key, follow, { id, sentId, lastEventId, isPublic });
    return new Response(await openBody(stream, request.signal), {
      headers: { "content-type": "text/event-stream" },
    });
  }

  async function removeTask({ env, user, id = "" }: AdmittedRequest<Env>): Promise<Response> {
    await openHost(env).run(await createUserKey(user.id), watches.markRemoved, { id });
    return new Response(null, { status: 204 });
  }

  /** Serves a poll of a task from its row. */
  function send(admitted: AdmittedRequest<Env>): Promise<Response> | undefined {
    return admitted.route === "videos" && admitted.id !== undefined ? servePoll(admitted) : undefined;
  }

  async function servePoll(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { env, user, id = "", sentId = id } = admitted;
    const host = openHost(env);
    const key = await createUserKey(user.id);
    let task = await host.run(key, watches.read, { id });
    if (!task || needsReader(task)) {
      const opened = await host.run(key, watches.open, {
        ...{ id, userId: user.id, firstPollInMs: intervalMs },
        maxOpen: getMaxOpen(admitted),
      });
      ({ task } = checkOpened(opened));
      // nothing is known, or an end without a final state is some time ago
      if ("isDue" in opened && opened.isDue) {
        await pollTask(parts, { host, key, env }, id);
        task = await host.run(key, watches.read, { id });
      }
    }
    if (!task) throw new Refusal("upstream_unreachable");
    const { envelope, failure, end } = task;
    if (end?.error !== undefined) throw createStoredRefusal(end as FailedResponse);
    if (envelope === undefined)
      throw failure ? createStoredRefusal(failure) : new Refusal("upstream_unreachable");
    const headers = { "content-type": "application/json" };
    return new Response(renameTask(envelope, id, sentId), { headers });
  }

  /** Starts the watch of a new task. A paid response must arrive, so a failure is only reported. */
  async function answered(admitted: AdmittedRequest<Env>, receipt: unknown): Promise<void> {
    const { route, body, user, id = "", sentId = id, model, headers, env } = admitted;
    if (route !== "videos" || !body) return;
    const requestId = headers?.["x-request-id"];
    const created: CreatedTask = { sentId, model, requestId };
    const start = async () =>
      openHost(env).run(await createUserKey(user.id), watches.start, {
        ...{ id, userId: user.id, created, random: Math.random() },
        maxOpen: getMaxOpen(admitted),
        envelope: readTask(receipt)?.envelope ?? null,
      });
    const drop = (code: string, error: unknown) => {
      const { setup, report } = server();
      const facts = { taskId: id, user: user.id, model, requestId };
      setup.report(`videoWatch: the watch of task ${id} (request ${requestId}) did not start`, error, env);
      report({ kind: "watch", id, outcome: "dropped", code, ...facts }, env, admitted.context);
    };
    try {
      // a second attempt, because connections are cut
      const { refused } = await limited(START_MS, (signal) =>
        Promise.race([start().catch(start), rejectOnAbort(signal)]),
      );
      if (refused) drop(refused, createWatchRefusal(refused, { what: MAX_OPEN_WATCHES }));
    } catch (error) {
      drop("object_unavailable", error);
    }
  }
}

/** Returns the bound of a user's watches. A public proxy has none: many people are one user there. */
function getMaxOpen({ isPublic }: Pick<AdmittedRequest, "isPublic">): number | null {
  return isPublic ? null : MAX_OPEN_WATCHES;
}

/** @throws {Refusal} 429 `too_many_tasks` */
function checkOpened<Opened extends object>(opened: Opened | { readonly refused: "too_many_tasks" }): Opened {
  if ("refused" in opened)
    throw createWatchRefusal(opened.refused, { what: MAX_OPEN_WATCHES, headers: { "retry-after": "60" } });
  return opened;
}

/** Returns true for a watch whose row has to change for a page that polls. */
function needsReader(task: WatchedTask): boolean {
  if (task.end) return canResume(task, Date.now());
  return task.envelope === undefined || Date.now() - task.lastReaderAt >= READER_NOTE_MS;
}

/** Returns the refusal of a poll that failed, as the gateway or the proxy worded it. */
function createStoredRefusal({ status, error }: FailedResponse): Refusal {
  const { error: said } = JSON.parse(error) as { error: Record<string, string> };
  return new Refusal("said", { said: { ...said, status } });
}

/** @throws {TypeError} for an option that cannot work */
function checkOptions<Env>(options: VideoWatchOptions<Env>) {
  const { intervalMs = INTERVAL_MS.usual, retentionMs, onEnd = [] } = options;
  const { startOn = onEnd.length > 0 ? "create" : "subscribe", ...rest } = options;
  const names = ["intervalMs", "retentionMs", "onEnd"];
  for (const name of Object.keys(rest)) ensure(names.includes(name), `${name}: is no option of videoWatch`);
  const { min, max } = INTERVAL_MS;
  ensure(
    Number.isSafeInteger(intervalMs) && intervalMs >= min && intervalMs <= max,
    `videoWatch: intervalMs: give a whole number from ${min} to ${max}`,
  );
  const isTime = retentionMs === undefined || (Number.isSafeInteger(retentionMs) && retentionMs >= 1);
  ensure(isTime, "videoWatch: retentionMs: give a whole number from 1 up");
  const isStart = startOn === "create" || startOn === "subscribe";
  ensure(isStart, 'videoWatch: startOn: give "create" or "subscribe"');
  const areHandlers = Array.isArray(onEnd) && onEnd.every((handler) => typeof handler === "function");
  ensure(areHandlers, "videoWatch: onEnd: give a list of functions, [webhook(…)]");
  ensure(
    onEnd.length === 0 || startOn === "create",
    'videoWatch: onEnd: works with startOn: "create" alone; leave startOn out',
  );
  return { intervalMs, retentionMs, isSteady: startOn === "create", onEnd };
}

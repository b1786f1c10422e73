import type { Admitted, Extension } from "../admitted.js";
import { limited } from "../gateway/call.js";
import { Refusal, readBinding } from "../refusal.js";
import { logError } from "../report.js";
import {
  askObject,
  checkLeavingIsReported,
  type DurableObjectClass,
  type DurableObjectHandlers,
  hashOf,
  type Next,
  type ObjectNamespace,
  type ObjectState,
  objectNamed,
  openReaders,
  refusedBy,
} from "./platform.js";
import {
  ABANDONED_AFTER_MS,
  afterAnswer,
  type CreatedTask,
  createdTask,
  createTaskQuery,
  type FailedAnswer,
  type GatewayOptions,
  INTERVAL_MS,
  isGone,
  isSucceeded,
  LONGEST_INTERVAL_MS,
  mayResume,
  newTask,
  resumedTask,
  SHORTEST_INTERVAL_MS,
  soonestPoll,
  type TaskAnswer,
  type TaskEnd,
  type WatchedTask,
} from "./video-task.js";

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
   * Work after the end of a task that was watched from its create: `afterEnd(…)` of `/notify` tells the app and its
   * users.
   * @default none
   */
  readonly onEnd?: EndHandler<Env>;
}

/** The end of a task that was watched from its create. */
export interface EndedTask {
  /** The same for each attempt to tell of this end, and no other end's: 32 hex digits. */
  readonly id: string;
  /** The task's id as its user knows it. */
  readonly taskId: string;
  /** The gateway's own id. */
  readonly gatewayId: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  readonly model?: string | undefined;
  /**
   * `expired`: the gateway does not know the task any more. `unknown`: nothing showed its end in 24 hours, and it may
   * still come: when its user asks again, the gateway is asked, and another end is another `EndedTask`.
   */
  readonly state: "succeeded" | "failed" | "expired" | "unknown";
  /** The gateway's newest answer, with the task's id as its user knows it. */
  readonly task: unknown;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** True where a page that showed the task received its end. */
  readonly isShown: boolean;
  /** True after the user has removed the task. */
  readonly isRemoved: boolean;
}

/** Progress of an {@link EndHandler}, kept in the object's storage. */
export interface EndProgress<Env> {
  readonly env: Env;
  /** The value that was saved last, as JSON; undefined at first. */
  readonly progress: unknown;
  /** Saves a value that outlasts an eviction. */
  save(progress: unknown): Promise<void>;
}

/**
 * Does what is due after the end of a task. The object's alarm calls it right after the end, and again at each time that
 * it returns in Unix milliseconds; undefined says that all is done.
 */
export type EndHandler<Env> = (ended: EndedTask, state: EndProgress<Env>) => Promise<number | undefined>;

/** Options of {@link videoEvents}. */
export interface VideoEventsOptions {
  /**
   * The start of a watch. `subscribe`: when the first page listens; it ends an hour after the last one left. `create`:
   * when the gateway has answered the create with an id; it goes on without a page, and answers all polls of the task.
   * @default "subscribe"
   */
  readonly startOn?: "create" | "subscribe";
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
 * export default createProxy<Env>({ ...options, routes: ["videos"], extensions: [events] });
 * ```
 */
export function videoEvents<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
  { startOn = "subscribe" }: VideoEventsOptions = {},
): Extension<Env> {
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
  };

  function serve(admitted: Admitted<Env>): Promise<Response> {
    const { signal, headers } = admitted.request;
    const seen = headers.get("last-event-id");
    // the only header of the client's that goes on: the others hold credentials
    return reach(admitted, "", { headers: seen === null ? {} : { "last-event-id": seen }, signal });
  }

  /** Answers a poll from the object. */
  function send(admitted: Admitted<Env>): Promise<Response> | undefined {
    return admitted.route === "videos" && admitted.id !== undefined
      ? reach(admitted, "/task", {})
      : undefined;
  }

  async function answered(admitted: Admitted<Env>, receipt: unknown): Promise<void> {
    const { route, body, user, sentId = "", model } = admitted;
    if (route !== "videos" || !body) return;
    const created: CreatedTask = { userId: user.id, sentId, model };
    const asked = { method: "POST", body: JSON.stringify({ created, receipt }) };
    const start = () => limited(START_MS, (signal) => reach(admitted, "", { ...asked, signal }));
    // a second try, because objects restart
    const started = start().catch(start);
    await started.catch(() => logError("videoEvents: the watch of a new task could not be started"));
  }

  async function reach(
    { env, user, id = "", sentId = id }: Admitted<Env>,
    path: string,
    init: RequestInit,
  ): Promise<Response> {
    const watch = objectNamed(await bound(env), `${await hashOf(user.id)}:${id}`);
    const query = new URLSearchParams({ as: sentId, ...(isSteady && { steady: "1" }) });
    return await askObject(watch, new Request(`https://video-watch/${id}${path}?${query}`, init));
  }
}

/** Most tabs that one task is pushed to. */
const MOST_READERS = 16;
/** Time for which an end is kept: of a task that was watched from its create, and of others. */
const CREATED_KEPT_MS = 7 * 24 * 60 * 60_000;
const KEPT_MS = 10 * 60_000;

/**
 * Makes the class of Durable Objects that each watch one video task, by alarms, for any number of tabs. An object polls
 * 5 s after the first answer and then ever less often, down to each `intervalMs` (15 s); each 60 s once it had no reader
 * for 5 minutes; and no more after the final state, after 24 hours, or after an hour without a reader. A task that is
 * watched from its create is polled 5 s after it, then at most once in `intervalMs`, and needs no reader. The object
 * keeps the newest answer, never the key, and deletes it `rememberMs` after the end.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const VideoWatch = videoWatch<Env>(gateway);
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env>): DurableObjectClass<Env> {
  const { intervalMs = INTERVAL_MS, rememberMs, onEnd, ...gateway } = options;
  if (typeof intervalMs === "number") checkInterval(intervalMs);
  if (rememberMs !== undefined && !(Number.isSafeInteger(rememberMs) && rememberMs >= 1))
    throw new TypeError("rememberMs: give a whole number from 1 up");
  const query = createTaskQuery(gateway);
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const watch = openVideoWatch(state, {
        poll: (id) => query(id, env),
        intervalMs: checkInterval(typeof intervalMs === "number" ? intervalMs : intervalMs(env)),
        rememberMs,
        onEnd: onEnd && ((ended, progress, save) => onEnd(ended, { env, progress, save })),
      });
      this.fetch = watch.fetch;
      this.alarm = watch.alarm;
    }
  };
}

function checkInterval(ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= SHORTEST_INTERVAL_MS && ms <= LONGEST_INTERVAL_MS) return ms;
  throw new TypeError(
    `intervalMs: give a whole number from ${SHORTEST_INTERVAL_MS} to ${LONGEST_INTERVAL_MS}`,
  );
}

/** The parts of a watch that its options decide. */
interface WatchParts {
  readonly poll: (taskId: string) => Promise<TaskAnswer>;
  readonly intervalMs: number;
  readonly rememberMs: number | undefined;
  readonly onEnd:
    | ((
        ended: EndedTask,
        progress: unknown,
        save: (progress: unknown) => Promise<void>,
      ) => Promise<number | undefined>)
    | undefined;
}

function openVideoWatch(state: ObjectState, parts: WatchParts): DurableObjectHandlers {
  const { poll, intervalMs, rememberMs, onEnd } = parts;
  const { storage } = state;
  const readers = openReaders(MOST_READERS);
  let task: WatchedTask | undefined;
  let polling: Promise<void> | undefined;
  void state.blockConcurrencyWhile(async () => {
    task = await storage.get<WatchedTask>("task");
  });
  return { fetch, alarm };

  /** Answers requests to `/<the gateway's id>?as=<the id as the client knows it>`, and to `/task` below it. */
  async function fetch(request: Request): Promise<Response> {
    try {
      const { pathname, searchParams } = new URL(request.url);
      const [, id = "", path] = pathname.split("/");
      const as = searchParams.get("as") ?? "";
      if (request.method === "DELETE") return await remove();
      const known = task ?? newTask(id, Date.now(), searchParams.has("steady"));
      if (request.method === "POST") return await start(known, await request.json());
      if (task !== known) await store(known);
      return path === "task" ? await read(as) : await subscribe(known, request, as);
    } catch (error) {
      return refusedBy(error);
    }
  }

  async function start(
    known: WatchedTask,
    { created, receipt }: { readonly created: CreatedTask; readonly receipt: unknown },
  ): Promise<Response> {
    if (!known.created && !known.end) {
      const next = createdTask(known, created, receipt, intervalMs);
      await store(next);
      await storage.setAlarm(next.nextAt);
      readers.wake();
    }
    return new Response(null, { status: 204 });
  }

  /** The watch goes on for the operator's sake. After its end, the alarm takes back what the user was to be told. */
  async function remove(): Promise<Response> {
    if (task && !task.isRemoved) {
      await store({ ...task, isRemoved: true, isDone: false });
      if (task.end && onEnd && task.created) await storage.setAlarm(Date.now());
    }
    return new Response(null, { status: 204 });
  }

  async function subscribe(known: WatchedTask, { headers, signal }: Request, as: string): Promise<Response> {
    checkLeavingIsReported();
    await resume();
    if (!task?.end) await wake(task ?? known);
    return readers.open(newsFor(as, headers.get("last-event-id")), signal);
  }

  /** A user who asks for a task whose watch ended without a final state makes it go on. */
  async function resume(): Promise<void> {
    if (!task || !mayResume(task, Date.now())) return;
    await store(resumedTask(task, Date.now()));
    await pollOnce();
  }

  /** Answers with what is known. The gateway is asked where nothing is. */
  async function read(as: string): Promise<Response> {
    await resume();
    if (!task?.envelope && !task?.end && Date.now() >= (task?.nextAt ?? 0)) await pollOnce();
    if (!task) throw new Refusal("upstream_unreachable");
    if (!task.end) task = { ...task, lastReaderAt: Date.now() };
    const { envelope, failure, end } = task;
    if (end?.error !== undefined) throw refusalIn(end as FailedAnswer);
    if (envelope === undefined) throw failure ? refusalIn(failure) : new Refusal("upstream_unreachable");
    return new Response(named(task, envelope, as), { headers: { "content-type": "application/json" } });
  }

  /** Sets the alarm where there is none, and sets it earlier for the first reader. */
  async function wake(known: WatchedTask): Promise<void> {
    const alarmAt = await storage.getAlarm();
    const soonest = Math.max(Date.now(), soonestPoll(known, intervalMs));
    const isSlow = readers.count === 0 && known.failures === 0 && alarmAt !== null && soonest < alarmAt;
    if (alarmAt === null || isSlow) await storage.setAlarm(soonest);
  }

  /** Returns each newest answer to one reader once, with the task's id as the client has it. */
  function newsFor(sentId: string, lastEventId: string | null): () => Next {
    let seen = lastEventId;
    let text = ":\n\n"; // makes the headers leave at once, even if there is no answer yet
    let isOver = false;
    return () => {
      if (isOver || !task) return "end";
      if (seen !== String(task.seq)) text += newsOf(task, sentId);
      seen = String(task.seq);
      text += endOf(task);
      isOver = task.end !== undefined;
      if (text === "") return "wait";
      const bytes = new TextEncoder().encode(text);
      text = "";
      return bytes;
    };
  }

  async function alarm(): Promise<void> {
    if (!task) return;
    const isAbandoned =
      !task.created && readers.count === 0 && Date.now() - task.lastReaderAt >= ABANDONED_AFTER_MS;
    if (task.end) return await afterEnd(task, task.end);
    if (isAbandoned) return forget();
    try {
      await pollOnce();
    } catch (error) {
      // the platform calls the alarm again; until then clients poll themselves
      readers.close();
      throw error;
    }
  }

  /** Polls for all who wait for it, and never sooner than the task may be polled. */
  function pollOnce(): Promise<void> {
    polling ??= pollNow().finally(() => {
      polling = undefined;
    });
    return polling;
  }

  async function pollNow(): Promise<void> {
    if (!task || task.end) return;
    const soonest = soonestPoll(task, intervalMs);
    if (Date.now() < soonest) return storage.setAlarm(Math.max(soonest, task.nextAt));
    // stored first: after an eviction in between, the poll counts
    await store({ ...task, askedAt: Date.now() });
    const answer = await poll(task.id);
    if (!task) return;
    const now = Date.now();
    const current = readers.count > 0 ? { ...task, lastReaderAt: now } : task;
    const keepMs = rememberMs ?? (task.created ? CREATED_KEPT_MS : KEPT_MS);
    const next = afterAnswer(current, answer, { now, keepMs, intervalMs, random: Math.random() });
    await keep(next.end ? await withShown(next, next.end) : next);
  }

  /** Notes if a page is about to receive the end. A tab that has gone is noticed by writing to it. */
  async function withShown(next: WatchedTask, end: TaskEnd): Promise<WatchedTask> {
    const isAsked = onEnd !== undefined && next.created !== undefined && readers.count > 0;
    const isShown = isAsked && (await readers.probe()) > 0;
    return { ...next, ...(task?.isRemoved && { isRemoved: true }), end: { ...end, isShown } };
  }

  /** Stores before it sends, so that no event number is used twice. */
  async function keep(next: WatchedTask): Promise<void> {
    await store(next);
    await storage.setAlarm(next.end && onEnd && next.created ? next.end.at : next.nextAt);
    readers.wake();
  }

  /** Does what is left to do after the end, and forgets it when its time is over. */
  async function afterEnd(known: WatchedTask, end: TaskEnd): Promise<void> {
    const { created, isDone, progress } = known;
    if (onEnd && created && !isDone) {
      const save = async (next: unknown) => store({ ...(task ?? known), progress: next });
      const nextAt = await onEnd(await endedTask(known, created, end), progress, save);
      // removed meanwhile: there may be something to take back
      if (task?.isRemoved && !known.isRemoved) return storage.setAlarm(Date.now());
      if (nextAt !== undefined) return storage.setAlarm(nextAt);
      await store({ ...(task ?? known), isDone: true });
    }
    if (Date.now() >= end.keepUntil) return forget();
    await storage.setAlarm(end.keepUntil);
  }

  async function store(next: WatchedTask): Promise<void> {
    await storage.put("task", next);
    task = next;
  }

  async function forget(): Promise<void> {
    task = undefined;
    await storage.deleteAll();
  }
}

async function endedTask(known: WatchedTask, created: CreatedTask, end: TaskEnd): Promise<EndedTask> {
  const { id, envelope, isRemoved = false } = known;
  const { userId, sentId, model } = created;
  const task: unknown = envelope === undefined ? null : JSON.parse(named(known, envelope, sentId));
  const isSuccess = isSucceeded({ ...(task as Record<string, unknown>) });
  const final = isSuccess ? "succeeded" : "failed";
  const state = end.error === undefined ? final : isGone(end) ? "expired" : "unknown";
  const { at: endedAt, isShown } = end;
  return {
    id: (await hashOf(`end\n${userId}\n${id}\n${state}`)).slice(0, 32),
    taskId: sentId,
    gatewayId: id,
    userId,
    model,
    state,
    task,
    endedAt,
    isShown,
    isRemoved,
  };
}

/** Returns an envelope with the task's id as the client has it. */
function named({ id }: WatchedTask, envelope: string, sentId: string): string {
  return JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? sentId : value));
}

/** Makes the refusal of a poll that failed, as the gateway or the proxy worded it. */
function refusalIn({ status, error }: FailedAnswer): Refusal {
  const { error: said } = JSON.parse(error) as { error: Record<string, string> };
  return new Refusal("said", { said: { ...said, status } });
}

/** Returns the newest answer as an event, with the task's id as the client has it. */
function newsOf(task: WatchedTask, sentId: string): string {
  if (task.envelope === undefined) return "";
  return `id: ${task.seq}\nevent: task\ndata: ${named(task, task.envelope, sentId)}\n\n`;
}

/** Returns the last event of a stream; one that stops without it was cut. */
function endOf({ end }: WatchedTask): string {
  if (!end) return "";
  return end.error === undefined ? "event: end\ndata: {}\n\n" : `event: error\ndata: ${end.error}\n\n`;
}

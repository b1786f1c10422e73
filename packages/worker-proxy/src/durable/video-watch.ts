import type { Admitted, Extension } from "../admitted.js";
import { limited } from "../gateway/call.js";
import { type JobEvent, type JobOutcome, notifyOf, type OnJobEvent } from "../job-event.js";
import { Refusal, readBinding } from "../refusal.js";
import { logError } from "../report.js";
import { keepLetter, resentLetter, withDeadLetters } from "./dead-letter-object.js";
import { type DeadLetter, type KeptLetter, LETTER_KEPT_MS } from "./dead-letter-rows.js";
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
import { userIndexIn, withUserIndex } from "./user-index.js";
import { ERASE, EXPORT } from "./user-objects.js";
import {
  ABANDONED_AFTER_MS,
  afterAnswer,
  type CreatedTask,
  createdTask,
  createTaskQuery,
  type EndState,
  endStateOf,
  type FailedAnswer,
  type GatewayOptions,
  INTERVAL_MS,
  isToldBefore,
  LONGEST_INTERVAL_MS,
  mayResume,
  newTask,
  resumedTask,
  SHORTEST_INTERVAL_MS,
  soonestPoll,
  storedTask,
  type TaskAnswer,
  type TaskEnd,
  type WatchedTask,
} from "./video-task.js";
import { POLL, watchData, watchOperations } from "./watch-data.js";

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
  /**
   * The binding to this class. With it a notice that is given up becomes a dead letter: see `deadLetters`.
   * @default none is kept
   */
  readonly namespace?: (env: Env) => ObjectNamespace | undefined;
  /**
   * Receives an event at the end of each watch (`watch`), and those of `webhook` and of `webPush` until it has taken over
   * a notice: each attempt that failed, and the end. An event is reported after its cause was stored: it comes once, or,
   * where the object is lost right then, not at all.
   * @default none
   */
  readonly onEvent?: OnJobEvent<Env>;
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
  readonly state: EndState;
  /** The gateway's newest answer, with the task's id as its user knows it. */
  readonly task: unknown;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** True where a page that showed the task received its end. */
  readonly isShown: boolean;
  /** True after the user has removed the task. */
  readonly isRemoved: boolean;
  /** The `x-request-id` of the create. */
  readonly requestId?: string | undefined;
}

/** A part of the work after an end that is given up. */
export type GivenUp = Pick<DeadLetter, "name" | "attempts" | "upstreamStatus">;

/** Progress of an {@link EndHandler}, kept in the object's storage. */
export interface EndProgress<Env> {
  readonly env: Env;
  /** Names of dead letters that an operator sends again. Empty after the next `save`. */
  readonly again: readonly string[];
  /** Reports an event to `onEvent` of the watch. */
  report(event: JobEvent): void;
  /** Keeps a dead letter, where the watch has its `namespace`. Rejects where it could not be kept. */
  giveUp(part: GivenUp): Promise<void>;
  /** The value that was saved last, as JSON; undefined at first. */
  readonly progress: unknown;
  /** Saves a value that outlasts an eviction. Gives false after the user was erased: the handler is not called again. */
  save(progress: unknown): Promise<boolean>;
}

/**
 * Does what is due after the end of a task. The object's alarm calls it right after the end, and again at each time that
 * it returns in Unix milliseconds; undefined says that all is done.
 */
export type EndHandler<Env> = (ended: EndedTask, state: EndProgress<Env>) => Promise<number | undefined>;

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
 * export default createProxy<Env>({ ...options, routes: ["videos"], extensions: [events] });
 * ```
 */
export function videoEvents<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
  { startOn = "subscribe", onEvent }: VideoEventsOptions<Env> = {},
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
    userData: watchData(bound),
    operations: watchOperations(bound),
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
  async function list({ env, user, id = "" }: Admitted<Env>, keptMs: number): Promise<void> {
    try {
      const index = userIndexIn(await bound(env), await hashOf(user.id));
      await index.end({ id, keptUntil: Date.now() + keptMs });
    } catch {
      logError(`videoEvents: task ${id} could not be listed; eraseUser does not find its watch`);
    }
  }

  async function reach(admitted: Admitted<Env>, path: string, init: RequestInit): Promise<Response> {
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
const KEPT = "x-sluice-kept";
/** Time for which a watch is listed, in milliseconds, beside what it keeps its end for. */
const LISTED_MS = 31 * 24 * 60 * 60_000;

/** Header with the id of the user, encoded as a part of an address. */
const USER = "x-sluice-user";

/** Returns the name of the object that watches a user's task. */
async function nameOf(userId: string, taskId: string): Promise<string> {
  return `${await hashOf(userId)}:${taskId}`;
}

/** Most tabs that one task is pushed to. */
const MOST_READERS = 16;
/** Time for which an end is kept: of a task that was watched from its create, and of others. */
const CREATED_KEPT_MS = 7 * 24 * 60 * 60_000;
const KEPT_MS = 10 * 60_000;
/** Shortest pause after a handler that threw, and that of a watch whose rows are of a later version. */
const FAILED_WORK_MS = 5 * 60_000;
const TOO_NEW_MS = 5 * 60_000;

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
  const { intervalMs = INTERVAL_MS, rememberMs, onEnd, namespace, onEvent, ...gateway } = options;
  if (typeof intervalMs === "number") checkInterval(intervalMs);
  if (rememberMs !== undefined && !(Number.isSafeInteger(rememberMs) && rememberMs >= 1))
    throw new TypeError("rememberMs: give a whole number from 1 up");
  const query = createTaskQuery(gateway);
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
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
      const letters = { namespace: () => namespace?.(env), kind: "webhook", report } as const;
      const object = withUserIndex(state, () =>
        withDeadLetters(openVideoWatch(state, parts), state, letters),
      );
      this.fetch = object.fetch;
      this.alarm = object.alarm;
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
        work: Pick<EndProgress<never>, "again" | "progress" | "save" | "giveUp">,
      ) => Promise<number | undefined>)
    | undefined;
  readonly keepLetter: ((letter: KeptLetter) => Promise<void>) | undefined;
  readonly report: (event: JobEvent) => void;
}

function openVideoWatch(state: ObjectState, parts: WatchParts): DurableObjectHandlers {
  const { poll, intervalMs, rememberMs, onEnd, report } = parts;
  const { storage } = state;
  const readers = openReaders(MOST_READERS);
  let task: WatchedTask | undefined;
  let polling: Promise<void> | undefined;
  /** Set where the rows are of a later version: nothing of it is read or changed. */
  let tooNew: unknown;
  void state.blockConcurrencyWhile(async () => {
    const stored = await storage.get("task");
    try {
      task = storedTask(stored);
    } catch (error) {
      tooNew = error;
    }
  });
  return { fetch, alarm };

  /** Answers requests to `/<the gateway's id>?as=<the id as the client knows it>`, and to `/task` below it. */
  async function fetch(request: Request): Promise<Response> {
    if (tooNew !== undefined) throw tooNew;
    try {
      const letter = await resentLetter(request);
      if (letter !== undefined) return await resend(letter);
      if (request.url === EXPORT) return Response.json(task ? exportedTask(task) : null);
      if (request.url === ERASE) return await erase();
      if (request.url === POLL) return await pollAgain();
      const { pathname, searchParams } = new URL(request.url);
      const [, id = "", path] = pathname.split("/");
      const as = searchParams.get("as") ?? "";
      if (request.method === "DELETE") return await remove();
      const userId = decodeURIComponent(request.headers.get(USER) ?? "");
      const how = { isSteady: searchParams.has("steady"), ...(userId && { userId }) };
      const known = task ?? newTask(id, Date.now(), how);
      if (request.method === "POST") return await start(known, await request.json());
      if (task !== known) await store(known);
      const answer = path === "task" ? await read(as) : await subscribe(known, request, as);
      // in the first answers, since one of them may be lost
      if (task && !task.created && task.answers <= 1) answer.headers.set(KEPT, String(rememberMs ?? KEPT_MS));
      return answer;
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
    return new Response(null, { status: 204, headers: { [KEPT]: String(rememberMs ?? CREATED_KEPT_MS) } });
  }

  /** Ends the watch and the work after its end, and deletes it. */
  async function erase(): Promise<Response> {
    const erased = task;
    readers.close();
    await storage.deleteAlarm();
    await forget();
    const hasWork = erased && (!erased.end || (onEnd && erased.created && !erased.isDone));
    if (hasWork) reportEnd(erased, "stopped", "user_erased");
    return new Response(null, { status: 204 });
  }

  /** Polls for an operator, and goes on where the watch ended without a final state. A gateway's `Retry-After` is not waited for. */
  async function pollAgain(): Promise<Response> {
    if (task?.end?.error !== undefined) await store(resumedTask(task, Date.now()));
    await pollOnce();
    return Response.json(task ? exportedTask(task) : null);
  }

  /** The watch goes on for the operator's sake. After its end, the alarm takes back what the user was to be told. */
  async function remove(): Promise<Response> {
    if (task && !task.isRemoved) {
      const told = task.told && { ...task.told, isDone: false };
      await store({ ...task, isRemoved: true, isDone: false, ...(told && { told }) });
      if (task.end && onEnd && task.created) await storage.setAlarm(Date.now());
    }
    return new Response(null, { status: 204 });
  }

  /** Does a part of the work after the end again. A watch that goes on will tell of another end. */
  async function resend(letter: string): Promise<Response> {
    if (!task?.end || !task.created) return new Response(null, { status: 404 });
    const name = letter.slice(letter.indexOf(":") + 1);
    await store({ ...task, again: [...(task.again ?? []), name], isDone: false });
    await storage.setAlarm(Date.now());
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
    // the platform drops an alarm that fails some times: the watch goes on when the newer Worker is back
    if (tooNew !== undefined) return storage.setAlarm(Date.now() + TOO_NEW_MS);
    if (!task) return;
    const isAbandoned =
      !task.created && readers.count === 0 && Date.now() - task.lastReaderAt >= ABANDONED_AFTER_MS;
    if (task.end) return await afterEnd(task, task.end);
    if (isAbandoned) {
      reportEnd(task, "orphaned", "no_reader");
      return forget();
    }
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
    await store({ ...task, askedAt: Date.now(), polls: task.polls + 1 });
    const { startedAt } = task;
    const isErased = () => task?.startedAt !== startedAt;
    const answer = await poll(task.id);
    if (!task || isErased()) return;
    const now = Date.now();
    const current = readers.count > 0 ? { ...task, lastReaderAt: now } : task;
    const keepMs = rememberMs ?? (task.created ? CREATED_KEPT_MS : KEPT_MS);
    const next = afterAnswer(current, answer, { now, keepMs, intervalMs, random: Math.random() });
    const shown = next.end ? await withShown(next, next.end) : next;
    if (!isErased()) await keep(shown);
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
    if (next.end && !isToldBefore(next)) reportEnd(next, ...outcomeOf(next, next.end));
  }

  function reportEnd(over: WatchedTask, outcome: JobOutcome, code: string | undefined): void {
    const { id, created, userId, polls, startedAt } = over;
    const { model, requestId } = { ...created };
    const facts = { taskId: id, user: created?.userId ?? userId, model, requestId };
    const durationMs = Date.now() - startedAt;
    report({ kind: "watch", id, outcome, code, ...facts, attempts: polls, durationMs });
    if (outcome === "lost")
      logError(
        `videoWatch: task ${id} ends without a known result: ${code} (request ${requestId ?? "unknown"})`,
      );
  }

  /** Does what is left to do after the end, and forgets it when its time is over. */
  async function afterEnd(known: WatchedTask, end: TaskEnd): Promise<void> {
    const { created, isDone } = known;
    if (onEnd && created && !isDone) {
      const nextAt = await workAfter(known, created, end, onEnd);
      // erased meanwhile
      if (!task?.end) return;
      const { again, ...rest } = task;
      const isNews = (task.isRemoved && !known.isRemoved) || (again && again !== known.again);
      // removed, or wanted again meanwhile
      if (isNews) return storage.setAlarm(Date.now());
      // a handler that saves nothing has seen it all the same
      if (again || nextAt === undefined) await store({ ...rest, isDone: nextAt === undefined });
      if (nextAt !== undefined) return storage.setAlarm(nextAt);
    }
    const keepUntil = task?.end?.keepUntil ?? end.keepUntil;
    if (Date.now() >= keepUntil) return forget();
    await storage.setAlarm(keepUntil);
  }

  /** Lets the operator's handler work. One that throws is called again until the end is forgotten. */
  async function workAfter(
    known: WatchedTask,
    created: CreatedTask,
    end: TaskEnd,
    handler: NonNullable<WatchParts["onEnd"]>,
  ): Promise<number | undefined> {
    const ended = await endedTask(known, created, end);
    const { progress, again = [] } = known;
    const save = async (next: unknown) => {
      // nothing is written after the user was erased
      if (!task) return false;
      const { again: asked, ...rest } = task;
      const later = asked?.slice(again.length) ?? [];
      await store({ ...rest, progress: next, ...(later.length > 0 && { again: later }) });
      return true;
    };
    try {
      return await handler(ended, { progress, again, save, giveUp: (part) => giveUp(part, ended) });
    } catch {
      const isOver = Date.now() >= end.keepUntil;
      logError(
        `videoWatch: onEnd of task ${known.id} failed; ${isOver ? "it is given up" : "it is called again"}`,
      );
      if (isOver) reportEnd(known, "dropped", "on_end_failed");
      // ever less often
      const pause = Math.max(FAILED_WORK_MS, Date.now() - end.at);
      return isOver ? undefined : Math.min(Date.now() + pause, end.keepUntil);
    }
  }

  /** Keeps a letter, and the end for as long as it can be sent again. */
  async function giveUp(part: GivenUp, ended: EndedTask): Promise<void> {
    if (!parts.keepLetter || !task?.end) return;
    const { id, userId: user, gatewayId: taskId, model, requestId } = ended;
    const object = await nameOf(user, taskId);
    const at = Date.now();
    const facts = { user, taskId, model, requestId };
    await parts.keepLetter({ id: `${id}:${part.name}`, object, ...part, ...facts, at });
    const end = { ...task.end, keepUntil: Math.max(task.end.keepUntil, at + LETTER_KEPT_MS) };
    await store({ ...task, end });
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

/** Returns the outcome of a watch, and the code that says why. */
function outcomeOf(task: WatchedTask, end: TaskEnd): [outcome: JobOutcome, code: string | undefined] {
  const state = endStateOf(task, end);
  const code = end.error === undefined ? `task_${state}` : codeIn(end.error);
  if (task.isRemoved) return ["stopped", code];
  if (state === "succeeded") return ["complete", undefined];
  const isLost = code === "task_not_found" || code === "watch_timeout";
  return [isLost ? "lost" : "failed", code];
}

function codeIn(error: string): string | undefined {
  return (JSON.parse(error) as { error: { code?: string } }).error.code;
}

/** Returns what a watch keeps of its user. */
function exportedTask(task: WatchedTask) {
  const { id, userId, created, isRemoved = false, startedAt, envelope, end } = task;
  return {
    id: created?.sentId ?? id,
    gatewayId: id,
    user: created?.userId ?? userId,
    model: created?.model,
    requestId: created?.requestId,
    startedAt,
    isRemoved,
    ...(end && { state: endStateOf(task, end), endedAt: end.at }),
    task: envelope === undefined ? null : (JSON.parse(envelope) as unknown),
  };
}

async function endedTask(known: WatchedTask, created: CreatedTask, end: TaskEnd): Promise<EndedTask> {
  const { id, envelope, isRemoved = false } = known;
  const { userId, sentId, model, requestId } = created;
  const task: unknown = envelope === undefined ? null : JSON.parse(named(known, envelope, sentId));
  const state = endStateOf(known, end);
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
    requestId,
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

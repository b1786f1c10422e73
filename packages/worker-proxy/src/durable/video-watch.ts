import type { Admitted, Extension } from "../admitted.js";
import { readBinding } from "../refusal.js";
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
  createTaskQuery,
  FIRST_PAUSE_MS,
  type GatewayOptions,
  newTask,
  type TaskAnswer,
  type WatchedTask,
} from "./video-task.js";

/** Options of {@link videoWatch}: the way to the gateway, as `createProxy` takes it. */
export type VideoWatchOptions<Env> = GatewayOptions<Env>;

/**
 * Adds `GET /v1/video/generations/{id}/events` to a proxy, and announces it to clients: changes of a task, pushed over
 * SSE by a {@link videoWatch} object that polls once for all tabs. `@sluice/core` uses it by itself, and polls where it
 * is missing.
 *
 * The stream: `event: task` with the gateway's envelope, now and at each change; at last `event: end`, or `event: error`
 * with an error's body. A stream that stops without one of these was cut: ask again with `Last-Event-ID`.
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
    const watch = objectNamed(await bound(env), `${await hashOf(user.id)}:${id}`);
    const seen = request.headers.get("last-event-id");
    const subscription = new Request(`https://video-watch/${id}?as=${encodeURIComponent(sentId)}`, {
      // the only header of the client's that goes on: the others hold credentials
      headers: seen === null ? {} : { "last-event-id": seen },
      signal: request.signal,
    });
    return await askObject(watch, subscription);
  }
}

/** Most tabs that one task is pushed to. */
const MOST_READERS = 16;

/**
 * Makes the class of Durable Objects of which each watches one video task, by alarms, for any number of tabs. It polls
 * 5 s after the first answer and then ever less often, down to each 15 s; each 60 s once it had no reader for 5 minutes;
 * and no more after the final state, after 24 hours, or after an hour without a reader. It keeps the newest answer, never
 * the key, and deletes it 10 minutes after the end.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const VideoWatch = videoWatch<Env>(gateway);
 * ```
 */
export function videoWatch<Env = unknown>(options: VideoWatchOptions<Env>): DurableObjectClass<Env> {
  const query = createTaskQuery(options);
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const watch = openVideoWatch(state, (id) => query(id, env));
      this.fetch = watch.fetch;
      this.alarm = watch.alarm;
    }
  };
}

function openVideoWatch(
  state: ObjectState,
  poll: (taskId: string) => Promise<TaskAnswer>,
): DurableObjectHandlers {
  const { storage } = state;
  const readers = openReaders(MOST_READERS);
  let task: WatchedTask | undefined;
  void state.blockConcurrencyWhile(async () => {
    task = await storage.get<WatchedTask>("task");
  });
  return { fetch: subscribe, alarm };

  /** Answers `GET /<the gateway's id>?as=<the id as the client knows it>`. */
  async function subscribe({ url, headers, signal }: Request): Promise<Response> {
    try {
      checkLeavingIsReported();
      const { pathname, searchParams } = new URL(url);
      if (!task) {
        task = newTask(pathname.slice(1), Date.now());
        await storage.put("task", task);
      }
      if (!task.end) await wake(task);
      return readers.open(newsFor(searchParams.get("as") ?? "", headers.get("last-event-id")), signal);
    } catch (error) {
      return refusedBy(error);
    }
  }

  /** Sets the alarm where there is none, and sets it earlier for the first reader. */
  async function wake(known: WatchedTask): Promise<void> {
    const alarmAt = await storage.getAlarm();
    const soonest = Math.max(Date.now(), known.askedAt + FIRST_PAUSE_MS);
    const isSlow = readers.count === 0 && known.failures === 0 && alarmAt !== null && soonest < alarmAt;
    if (alarmAt === null || isSlow) await storage.setAlarm(soonest);
  }

  /** Gives one reader each newest answer that it has not had, with the task named as the reader knows it. */
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
    const isAbandoned = readers.count === 0 && Date.now() - task.heardAt >= ABANDONED_AFTER_MS;
    if (task.end || isAbandoned) return forget();
    try {
      const answer = await poll(task.id);
      const now = Date.now();
      const heard = readers.count > 0 ? { ...task, heardAt: now } : task;
      await keep(afterAnswer(heard, answer, now, Math.random()));
    } catch (error) {
      // the platform calls again later; until then clients had better poll themselves
      readers.close();
      throw error;
    }
  }

  /** Writes before it sends: what was sent is never forgotten, so no number is given twice. */
  async function keep(next: WatchedTask): Promise<void> {
    await storage.put("task", next);
    await storage.setAlarm(next.nextAt);
    task = next;
    readers.wake();
  }

  async function forget(): Promise<void> {
    task = undefined;
    await storage.deleteAll();
  }
}

/** Returns the newest answer as an event, with the task named as the client does. */
function newsOf({ id, seq, envelope }: WatchedTask, sentId: string): string {
  if (envelope === undefined) return "";
  const named = JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? sentId : value));
  return `id: ${seq}\nevent: task\ndata: ${named}\n\n`;
}

/** Returns the last event of a stream; one that stops without it was cut. */
function endOf({ end }: WatchedTask): string {
  if (!end) return "";
  return end.error === undefined ? "event: end\ndata: {}\n\n" : `event: error\ndata: ${end.error}\n\n`;
}

import { errorBody, misconfigured, Refusal } from "../refusal.js";
import { createTaskQuery, type GatewayOptions, type TaskAnswer } from "./gateway.js";
import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "./platform.js";
import { createSubscribers } from "./subscribers.js";
import { ABANDONED_AFTER_MS, afterAnswer, FIRST_PAUSE_MS, newTask, type WatchedTask } from "./video-task.js";

/** What {@link videoWatch} takes: how the gateway is reached, as `createProxy` takes it. */
export type VideoWatchOptions<Env> = GatewayOptions<Env>;

/** More tabs than one user has open, and few enough for one object. */
const MOST_SUBSCRIBERS = 16;

/**
 * Makes the class of Durable Objects of which each watches one video task, by alarms, for any number of tabs. It asks
 * the gateway 5 s after the first answer and then ever less often, down to each 15 s; each 60 s once nobody has listened
 * for 5 minutes; and no more after the final state, after 24 hours, or after an hour without a listener. It keeps the
 * newest answer, never the key, and deletes it 10 minutes after the end.
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
      const watch = createVideoWatch(state, (id) => query(id, env));
      this.fetch = watch.fetch;
      this.alarm = watch.alarm;
    }
  };
}

function createVideoWatch(
  state: ObjectState,
  ask: (taskId: string) => Promise<TaskAnswer>,
): DurableObjectHandlers {
  const { storage } = state;
  const subscribers = createSubscribers<string>();
  let task: WatchedTask | undefined;
  void state.blockConcurrencyWhile(async () => {
    task = await storage.get<WatchedTask>("task");
  });
  return { fetch: subscribe, alarm };

  /** Answers `GET /<the gateway's id>?as=<the id as the client knows it>`. */
  async function subscribe({ url, headers, signal }: Request): Promise<Response> {
    if (!hearsLeaving())
      return refused(misconfigured("videoWatch: set the compatibility flag enable_request_signal"));
    const { pathname, searchParams } = new URL(url);
    const sentId = searchParams.get("as") ?? "";
    if (!task) {
      task = newTask(pathname.slice(1), Date.now());
      await storage.put("task", task);
    }
    if (!task.end) await wake(task);
    // from here on nothing is awaited: what comes next is either in the opening or told
    if (subscribers.count >= MOST_SUBSCRIBERS) return refused(tooManyTabs());
    const isSeen = headers.get("last-event-id") === String(task.seq);
    const opening = (isSeen ? "" : newsOf(task, sentId)) + endOf(task);
    return subscribers.add(sentId, signal, opening, task.end !== undefined);
  }

  /** Sees to it that there is a next question, and that who listens first does not wait for it for a minute. */
  async function wake(known: WatchedTask): Promise<void> {
    const alarmAt = await storage.getAlarm();
    const soonest = Math.max(Date.now(), known.askedAt + FIRST_PAUSE_MS);
    const isSlow = subscribers.count === 0 && known.failures === 0 && alarmAt !== null && soonest < alarmAt;
    if (alarmAt === null || isSlow) await storage.setAlarm(soonest);
  }

  async function alarm(): Promise<void> {
    if (!task) return;
    const isAbandoned = subscribers.count === 0 && Date.now() - task.heardAt >= ABANDONED_AFTER_MS;
    if (task.end || isAbandoned) return forget();
    try {
      const answer = await ask(task.id);
      const now = Date.now();
      const heard = subscribers.count > 0 ? { ...task, heardAt: now } : task;
      await learn(afterAnswer(heard, answer, now, Math.random()));
    } catch (error) {
      // the platform calls again; who listens had better ask for themselves until then, and no end was told
      subscribers.close();
      throw error;
    }
  }

  /** Keeps it before it is told: what was told is never forgotten, so no number is given twice. */
  async function learn(next: WatchedTask): Promise<void> {
    await storage.put("task", next);
    await storage.setAlarm(next.nextAt);
    const isNews = next.seq !== task?.seq;
    task = next;
    if (isNews || next.end) subscribers.tell((sentId) => (isNews ? newsOf(next, sentId) : "") + endOf(next));
    if (next.end) subscribers.close();
  }

  async function forget(): Promise<void> {
    task = undefined;
    await storage.deleteAll();
  }
}

/** The newest answer as an event, with the task named as the client does. */
function newsOf({ id, seq, envelope }: WatchedTask, sentId: string): string {
  if (envelope === undefined) return "";
  const named = JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? sentId : value));
  return `id: ${seq}\nevent: task\ndata: ${named}\n\n`;
}

/** A stream that stops without one of these was cut. */
function endOf({ end }: WatchedTask): string {
  if (!end) return "";
  return end.error === undefined ? "event: end\ndata: {}\n\n" : `event: error\ndata: ${end.error}\n\n`;
}

/** Without its flag a signal never aborts, and closed tabs would be listened for until the object ends. */
function hearsLeaving(): boolean {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  return Cloudflare?.compatibilityFlags?.["enable_request_signal"] !== false;
}

function tooManyTabs(): Refusal {
  const message = "this task is watched often enough; ask for it instead";
  return new Refusal(429, "too_many_subscribers", message, { headers: { "retry-after": "60" } });
}

function refused(refusal: Refusal): Response {
  const headers = { ...refusal.headers, "content-type": "application/json" };
  return new Response(errorBody(refusal), { status: refusal.status, headers });
}

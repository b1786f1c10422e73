import type { ProxyOptions } from "../options.js";
import { createProxy } from "../proxy.js";
import { Refusal } from "../refusal.js";
import { errorBody } from "../refusals.js";

/** State of a watch in its storage: all that it needs to go on after it was evicted. */
export interface WatchedTask {
  /** The gateway's own. */
  readonly id: string;
  readonly startedAt: number;
  /** Time at which there was last a reader. */
  readonly heardAt: number;
  /** Time of the last poll; 0 before the first. */
  readonly askedAt: number;
  /** The number of the newest event. Begins with the time, so that a later watch of the task never repeats one. */
  readonly seq: number;
  /** Envelope of the newest event; undefined before the gateway knew the task. */
  readonly envelope?: string;
  /** Number of answers; they come further apart with time. */
  readonly answers: number;
  /** Number of polls in a row without an answer. */
  readonly failures: number;
  /** Number of those whose answer was unreadable. */
  readonly unreadable: number;
  /** Set when there are no more polls; `error` where there is no final state. */
  readonly end?: { readonly error?: string };
  /** Time of the alarm: to poll again, or to forget. */
  readonly nextAt: number;
}

/** Shortest pause between two polls, and the one after the first answer. */
export const FIRST_PAUSE_MS = 5_000;
const PAUSE_MS = 15_000;
/** Pause without a reader, and the time without one after which it begins. */
const UNHEARD_PAUSE_MS = 60_000;
const UNHEARD_AFTER_MS = 5 * 60_000;
/** Time for which a watch goes on without a reader. */
export const ABANDONED_AFTER_MS = 60 * 60_000;
/** The longest pause that failures alone lead to. */
const LONGEST_PAUSE_MS = 120_000;
/** Gateways forget a task after about as long. */
const LONGEST_WATCH_MS = 24 * 60 * 60_000;
/** Time after the start in which the gateway may not know the task yet. */
const GRACE_MS = 30_000;
const UNREADABLE_IN_A_ROW = 3;
/** Time for which an end is kept for later readers; an error for less, since it may have been mended. */
const KEPT_MS = 10 * 60_000;
const ERROR_KEPT_MS = 60_000;

export function newTask(id: string, now: number): WatchedTask {
  return {
    id,
    startedAt: now,
    heardAt: now,
    askedAt: 0,
    seq: now,
    answers: 0,
    failures: 0,
    unreadable: 0,
    nextAt: now,
  };
}

/** Returns the state after another answer, with the time of the next poll. `random` in [0, 1). */
export function afterAnswer(task: WatchedTask, answer: TaskAnswer, now: number, random: number): WatchedTask {
  const asked = { ...task, askedAt: now };
  const late = now - task.startedAt >= LONGEST_WATCH_MS;
  if (answer.type === "task") {
    const isNews = faceOf(task.envelope) !== faceOf(answer.envelope);
    const { envelope, seq } = isNews ? { envelope: answer.envelope, seq: task.seq + 1 } : task;
    const known = {
      ...asked,
      ...(envelope && { envelope }),
      seq,
      answers: task.answers + 1,
      failures: 0,
      unreadable: 0,
    };
    if (answer.isFinal) return over(known, {});
    return late ? over(known, { error: ended.late }) : paused(known, 0, random);
  }
  const failed = {
    ...asked,
    failures: task.failures + 1,
    unreadable: task.unreadable + (answer.type === "unreadable" ? 1 : 0),
  };
  if (answer.type === "refused") return over(failed, { error: answer.error });
  const isNew = task.envelope === undefined && now - task.startedAt < GRACE_MS;
  if (answer.type === "absent" && !isNew) return over(failed, { error: ended.absent });
  if (failed.unreadable > UNREADABLE_IN_A_ROW) return over(failed, { error: ended.unreadable });
  if (late) return over(failed, { error: ended.late });
  return paused(failed, answer.type === "passing" ? answer.retryAfterMs : 0, random);
}

function over(task: WatchedTask, end: { readonly error?: string }): WatchedTask {
  return { ...task, end, nextAt: task.askedAt + (end.error === undefined ? KEPT_MS : ERROR_KEPT_MS) };
}

/** Sets the next poll: slowly further apart, far apart without a reader, and never before the gateway allows. */
function paused(task: WatchedTask, retryAfterMs: number, random: number): WatchedTask {
  const { askedAt, heardAt, answers, failures, startedAt } = task;
  const isHeard = askedAt - heardAt < UNHEARD_AFTER_MS;
  const usual = isHeard
    ? Math.min(PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** Math.max(0, answers - 1))
    : UNHEARD_PAUSE_MS;
  const grown = Math.min(usual * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
  const jittered = Math.max(grown, retryAfterMs / 0.9) * (0.9 + 0.2 * random);
  return { ...task, nextAt: Math.min(askedAt + Math.ceil(jittered), startedAt + LONGEST_WATCH_MS) };
}

/** Returns an envelope without its trace ids, which change with each answer. */
function faceOf(envelope: string | undefined): string | undefined {
  return (
    envelope &&
    JSON.stringify(JSON.parse(envelope), (key, value) =>
      /^(?:request|trace)_?id$/i.test(key) ? undefined : value,
    )
  );
}

/** The way to the gateway; the same as `createProxy` takes. */
export type GatewayOptions<Env> = Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch">;

/** Result of one poll. */
export type TaskAnswer =
  /** `envelope`: the gateway's JSON, written anew. */
  | { readonly type: "task"; readonly envelope: string; readonly isFinal: boolean }
  /** 429, 5xx, the network: asking again is likely to help. */
  | { readonly type: "passing"; readonly retryAfterMs: number }
  /** There is no task in it, or it is too large; or it says, under HTTP 200, that the query failed. */
  | { readonly type: "unreadable" }
  /** The gateway does not know the task: normal right after its creation. */
  | { readonly type: "absent" }
  /** Asking again would not help. `error`: the body to tell clients, in the gateway's error shape. */
  | { readonly type: "refused"; readonly error: string };

/** A task's envelope has about a thousand; what one row can't keep is none. */
const ENVELOPE_CHARACTERS = 256 * 1024;
const LIMITS = { headersMs: 30_000, stallMs: 30_000, totalMs: 60_000, pollMemoMs: 0 };

/**
 * Gives a function that asks the gateway once, whatever comes of it. It asks through a proxy of one route: the key, the
 * redirects, the timeouts and what may be said of a refusal are the same here as there.
 *
 * @throws {TypeError} when an option is missing or can't work
 */
export function createTaskQuery<Env>({ baseURL, apiKey, fetch }: GatewayOptions<Env>) {
  const { fetch: ask } = createProxy<Env>({
    baseURL,
    apiKey,
    ...(fetch && { fetch }),
    // nobody but this object asks, and it has been asked by a proxy that knows by whom
    authenticate: "public",
    origins: [],
    models: ["none"],
    routes: ["videos"],
    limits: LIMITS,
  });
  return async (taskId: string, env: Env): Promise<TaskAnswer> => {
    const response = await ask(
      new Request(`https://video-watch.invalid/v1/video/generations/${taskId}`),
      env,
    );
    if (response.headers.get("content-type") === "application/json")
      return response.ok ? taskIn(await response.text()) : failureOf(response, await response.text());
    await response.body?.cancel();
    return { type: "unreadable" };
  };
}

const FINAL = ["success", "succeeded", "failure", "failed", "cancelled", "canceled", "expired"];

/** Only the status decides; one that is not known is none that ends. */
function taskIn(text: string): TaskAnswer {
  const json = text.length > ENVELOPE_CHARACTERS ? undefined : recordOf(text);
  const isBare = typeof json?.["status"] === "string";
  const { status } = (isBare ? json : (json?.["data"] ?? {})) as { status?: unknown };
  const code = json?.["code"] || "success";
  if (!json || typeof status !== "string" || String(code).toLowerCase() !== "success")
    return { type: "unreadable" };
  return {
    type: "task",
    envelope: JSON.stringify(json),
    isFinal: FINAL.includes(status.trim().toLowerCase()),
  };
}

function recordOf(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Refusals of the gateway's account and of this proxy's own setup: waiting mends none of them. */
const HOPELESS = ["upstream_auth", "upstream_redirect", "misconfigured"];

function failureOf({ status, headers }: Response, text: string): TaskAnswer {
  const { error } = (recordOf(text) ?? {}) as { error?: { code?: string } };
  if (status === 404 || status === 400) return { type: "absent" };
  if (error?.code === "upstream_type") return { type: "unreadable" };
  const isPassing = status === 408 || status === 429 || status >= 500;
  if (isPassing && !HOPELESS.includes(error?.code ?? ""))
    return { type: "passing", retryAfterMs: retryAfterOf(headers) };
  return { type: "refused", error: text };
}

/** Seconds or a date, in milliseconds from now. */
function retryAfterOf(headers: Headers): number {
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(0, ms) || 0;
}

/** Error bodies of a watch that ends without a final state. */
const ended = {
  absent: errorBody(new Refusal("task_unknown")),
  unreadable: errorBody(new Refusal("upstream_unreadable")),
  late: errorBody(new Refusal("watch_timeout")),
};

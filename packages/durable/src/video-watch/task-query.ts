import type { ProxyOptions } from "@sluice/worker-proxy";
import { createProxy } from "@sluice/worker-proxy";
import { errorBody, textOf } from "@sluice/worker-proxy/internal";
import { objectRefusal } from "../objects/refusals.js";

/** The way to the gateway; the same as `createProxy` takes. */
export type GatewayOptions<Env> = Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch">;

/** A refusal as clients get it. `error`: the body, in the gateway's error shape. */
export interface FailedAnswer {
  readonly status: number;
  readonly error: string;
}

/** Result of one poll. */
export type TaskAnswer = ({ readonly type: "task" } & ReadTask) | FailedPoll;

/** A task as an answer or a receipt shows it. */
interface ReadTask {
  /** The gateway's JSON, written anew. */
  readonly envelope: string;
  /** True for a final status. */
  readonly isFinal: boolean;
  /** True for a failure, and for a success that has the address of a file. */
  readonly hasEnded: boolean;
}

/** A poll that shows no task. */
export type FailedPoll = FailedAnswer &
  /** 429, 5xx, the network: a later poll is likely to succeed. */
  (
    | { readonly type: "passing"; readonly retryAfterMs: number }
    /** There is no task in it, or it is too large, or it is no JSON; or it says, under HTTP 200, that the query failed. */
    | { readonly type: "unreadable" }
    /** The gateway does not know the task: normal right after its creation. */
    | { readonly type: "absent" }
    /** Any other refusal: a later poll is likely to fail too. */
    | { readonly type: "refused" }
  );

/** Largest envelope, which one row can keep. A task's envelope has about a thousand characters. */
const ENVELOPE_CHARACTERS = 256 * 1024;
const TIMEOUT = { firstChunkMs: 30_000, chunkMs: 30_000, totalMs: 60_000 };

/**
 * Creates a function that polls the gateway once, through a proxy of one route: key, redirects, timeout and error texts
 * are handled as in any proxy.
 *
 * @throws {TypeError} when an option is missing or can't work
 */
export function createTaskQuery<Env>({ baseURL, apiKey, fetch }: GatewayOptions<Env>) {
  const { fetch: ask } = createProxy<Env>({
    baseURL,
    apiKey,
    ...(fetch && { fetch }),
    // only this object calls it, behind a proxy that has authenticated the user
    authenticate: "public",
    origins: [],
    models: ["none"],
    routes: ["videos"],
    timeout: TIMEOUT,
  });
  return async (taskId: string, env: Env): Promise<TaskAnswer> => {
    const response = await ask(
      new Request(`https://video-watch.invalid/v1/video/generations/${taskId}`),
      env,
    );
    if (response.headers.get("content-type") === "application/json")
      return response.ok ? taskIn(await response.text()) : failureOf(response, await response.text());
    await response.body?.cancel();
    return unreadable;
  };
}

const FINAL = ["success", "succeeded", "failure", "failed", "cancelled", "canceled", "expired"];
/** A field that may have the address of a video (spec, Video task). */
const FILE = /"(?:result_url|url|video_url|fail_reason)":"https?:/;

const SUCCESS: readonly unknown[] = ["success", "succeeded"];

/** Returns true for a task that has succeeded, bare or in its envelope. */
export function isSucceeded(task: Readonly<Record<string, unknown>>): boolean {
  return SUCCESS.includes(statusIn(task));
}

function taskIn(text: string): TaskAnswer {
  const known = text.length > ENVELOPE_CHARACTERS ? undefined : envelopeIn(recordOf(text));
  return known ? { type: "task", ...known } : unreadable;
}

/** Reads a task by its status, in an answer or a receipt. An unknown status is not final. */
export function envelopeIn(given: unknown): ReadTask | undefined {
  const json = { ...(given as Record<string, unknown> | undefined) };
  const status = statusIn(json);
  const code = json["code"] || "success";
  if (status === undefined || String(code).toLowerCase() !== "success") return undefined;
  const envelope = JSON.stringify(json);
  const isFinal = FINAL.includes(status);
  return { envelope, isFinal, hasEnded: isFinal && (!SUCCESS.includes(status) || FILE.test(envelope)) };
}

/** Returns the status of a task, bare or in its envelope, in lower case. */
function statusIn(json: Readonly<Record<string, unknown>>): string | undefined {
  const isBare = typeof json["status"] === "string";
  const { status } = { ...((isBare ? json : json["data"]) as { status?: unknown } | undefined) };
  return typeof status === "string" ? status.trim().toLowerCase() : undefined;
}

function recordOf(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Refusals of the gateway's account and of this proxy's own setup: no later poll succeeds. */
const HOPELESS = ["upstream_auth", "upstream_redirect", "misconfigured"];

function failureOf({ status, headers }: Response, text: string): TaskAnswer {
  const { error } = (recordOf(text) ?? {}) as { error?: { code?: string } };
  // a page, whatever its status: not the gateway's word about a task
  if (error?.code === "upstream_type") return unreadable;
  if (status === 404) return { type: "absent", ...ended.absent };
  const isPassing = status === 408 || status === 429 || status >= 500;
  if (isPassing && !HOPELESS.includes(error?.code ?? ""))
    return { type: "passing", status, error: text, retryAfterMs: retryAfterOf(headers) };
  return { type: "refused", status, error: text };
}

/** Seconds or a date, in milliseconds from now. */
function retryAfterOf(headers: Headers): number {
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(0, ms) || 0;
}

/** Errors of a watch that ends without a final state. */
export const ended = {
  absent: failureIn("task_unknown"),
  unreadable: failureIn("upstream_unreadable"),
  late: failureIn("watch_timeout"),
};

const unreadable: TaskAnswer = { type: "unreadable", ...ended.unreadable };

function failureIn(reason: Parameters<typeof objectRefusal>[0]): FailedAnswer {
  const refusal = objectRefusal(reason);
  return { status: textOf(refusal).status, error: errorBody(refusal) };
}

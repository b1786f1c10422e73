import type { ProxyOptions } from "../options.js";
import { createProxy } from "../proxy.js";
import { errorBody, Refusal } from "../refusal.js";

/** How a gateway is reached; the same as `createProxy` takes. */
export type GatewayOptions<Env> = Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch">;

/** What one question about a task brought. */
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
const LIMITS = { headersMs: 30_000, stallMs: 30_000, totalMs: 60_000 };

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

/** What clients are told when a watch ends without a final state. */
export const ended = {
  absent: errorBody(new Refusal(404, "task_not_found", "the gateway does not know this task")),
  unreadable: errorBody(
    new Refusal(502, "upstream_unreadable", "the gateway's answers show no task; ask it yourself"),
  ),
  late: errorBody(new Refusal(504, "watch_timeout", "the task was not over after 24 hours")),
};

import { isSame } from "../gates/ids.js";
import type { Keys } from "../options.js";
import { ensure } from "../read-option.js";
import { refusals } from "../refusals/texts.js";
import type { AnyEvent, ProxyEvent } from "../report.js";
import { openFamily } from "./family.js";

/** Options of {@link metrics}. */
export interface MetricsOptions<Env = unknown> {
  /** The models that have values of their own: those of `createProxy`. Any other counts as `other`. */
  readonly models: readonly string[];
  /**
   * The secret that a scraper sends as a bearer, at least 32 characters; while it is changed, several. Where it is missing,
   * the path is closed. `"public"` answers everybody: only on a port that no stranger can reach.
   */
  readonly token: ((env: Env) => Keys) | "public";
}

/** Counters of one process. */
export interface Metrics<Env = unknown> {
  /** Counts an event: for `onEvent` of the proxy and of each of its parts. */
  readonly onEvent: (event: AnyEvent) => void;
  /** Answers a scraper in the text format of Prometheus. For everybody else there is nothing: 404. */
  readonly fetch: (request: Request, env: Env) => Response;
}

/** Bounds of a duration's buckets, in seconds: an answer may think for minutes. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Shortest token. */
const TOKEN_LENGTH = 32;

const CODES = new Set<string>(
  Object.entries(refusals).map(([reason, [, , code = reason]]: [string, readonly unknown[]]) => `${code}`),
);

/**
 * Counts the events of the proxy and of its parts, in the memory of this process, for Prometheus and what reads its text:
 *
 * - `sluice_requests_total` by route, model, status, outcome and code; `sluice_request_seconds` and
 *   `sluice_first_byte_seconds` by route and model
 * - `sluice_jobs_total` by kind, model, outcome and code; `sluice_job_seconds` by kind
 * - `sluice_tokens_total` by model and type, `sluice_spent_total` by model, in the meter's unit
 *
 * No value names a user, a request or an address. A code of the gateway's own counts as `other`.
 *
 * It is for a server that lives on, on Node, Deno or Bun. A Worker has many short lives: use `analyticsEngine` there.
 *
 * @throws {TypeError} when an option is missing
 * @example
 * ```ts
 * const measured = metrics<Env>({ models: ["delta-5.3"], token: (env) => env.METRICS_TOKEN });
 * const proxy = createProxy<Env>({ ...options, onEvent: measured.onEvent });
 * const answer = (request: Request) =>
 *   new URL(request.url).pathname === "/metrics" ? measured.fetch(request, env) : proxy.fetch(request, env);
 * ```
 */
export function metrics<Env = unknown>({ models, token }: MetricsOptions<Env>): Metrics<Env> {
  ensure(Array.isArray(models), "models: give the list of the proxy's models");
  ensure(token === "public" || typeof token === "function", "token: give (env) => env.METRICS_TOKEN");
  const known = new Set(models);
  const requests = openFamily("sluice_requests_total", "Requests that have ended.");
  const seconds = openFamily(
    "sluice_request_seconds",
    "Time from a request to the end of its answer.",
    SECONDS,
  );
  const firstByte = openFamily(
    "sluice_first_byte_seconds",
    "Time from a request to the first byte of its body.",
    SECONDS,
  );
  const jobs = openFamily("sluice_jobs_total", "Ends of jobs, and attempts that another one follows.");
  const jobSeconds = openFamily("sluice_job_seconds", "Time from the begin of a job to its end.", SECONDS);
  const tokens = openFamily("sluice_tokens_total", "Tokens as the gateway counts them.");
  const spent = openFamily("sluice_spent_total", "Amounts that were spent, in the unit of the meter.");
  const all = [requests, seconds, firstByte, jobs, jobSeconds, tokens, spent];
  return { onEvent, fetch };

  function onEvent(event: AnyEvent): void {
    const model = modelOf(event);
    if (event.kind === "request") countRequest(event, model);
    else {
      const { kind, outcome, durationMs } = event;
      jobs.add({ kind, model, outcome, code: codeOf(event) }, 1);
      jobSeconds.add({ kind }, inSeconds(durationMs));
    }
    tokens.add({ model, type: "prompt" }, event.usage?.prompt_tokens);
    tokens.add({ model, type: "completion" }, event.usage?.completion_tokens);
    spent.add({ model }, event.spent);
  }

  function countRequest(event: ProxyEvent, model: string): void {
    const { route = "none", status, outcome, durationMs, firstByteMs } = event;
    requests.add({ route, model, status: `${status}`, outcome, code: codeOf(event) }, 1);
    seconds.add({ route, model }, inSeconds(durationMs));
    firstByte.add({ route, model }, inSeconds(firstByteMs));
  }

  function modelOf({ model }: AnyEvent): string {
    if (model === undefined) return "none";
    return known.has(model) ? model : "other";
  }

  function fetch(request: Request, env: Env): Response {
    if (request.method !== "GET" || !isScraper(request, env)) return new Response(null, { status: 404 });
    const headers = {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
    };
    return new Response(all.map(({ text }) => text()).join(""), { headers });
  }

  function isScraper({ headers }: Request, env: Env): boolean {
    // no page reads them, whatever it may send
    if (headers.has("origin")) return false;
    if (token === "public") return true;
    const sent = headers.get("authorization") ?? "";
    const secrets = [token(env)].flat().filter((secret) => (secret ?? "").length >= TOKEN_LENGTH);
    return secrets.some((secret) => isSame(sent, `Bearer ${secret}`));
  }
}

/** A code of the gateway's own could be anything. */
function codeOf({ code, upstreamStatus }: AnyEvent): string {
  if (code === undefined) return "none";
  return CODES.has(code) || upstreamStatus === undefined ? code : "other";
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

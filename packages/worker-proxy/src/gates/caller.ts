import type { Admitted, Checked, User } from "../admitted.js";
import { decided, misconfigured, Refusal, readBinding, tooMany, whyNobody } from "../refusal.js";
import { isPoll, type Route } from "./path.js";

const EXPOSED = "retry-after, x-request-id, x-sluice-dropped, x-sluice-offers, x-sluice-source, x-stream-id";

/** The CORS headers of every answer to a request. They keep other pages from reading it, and authenticate nobody. */
export function corsHeadersOf(
  origin: string | null,
  allowed: readonly string[],
  credentials: boolean,
): Record<string, string> {
  const always = { vary: "Origin" };
  if (origin === null || !allowed.includes(origin)) return always;
  return {
    ...always,
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
    ...(credentials && { "access-control-allow-credentials": "true" }),
  };
}

/** @throws {Refusal} 403 for a page that is not allowed to call */
export function checkOrigin(origin: string | null, allowed: readonly string[]): void {
  if (origin !== null && !allowed.includes(origin))
    throw new Refusal("origin_not_allowed", { advice: origin });
}

/** @throws {Refusal} 401 without a user, 503 where `authenticate` fails */
export async function userOf<Env>(
  authenticate: ((request: Request, env: Env) => User | null | Promise<User | null>) | "public",
  request: Request,
  env: Env,
): Promise<User> {
  const address = request.headers.get("cf-connecting-ip");
  const from = address === null ? {} : { address };
  if (authenticate === "public") return { ...from, id: "public" };
  // two headers arrive joined, and a check could read either of them
  const isJoined = request.headers.get("authorization")?.includes(",");
  const ask = () => (isJoined ? null : authenticate(request, env));
  const user = await decided("authenticate", "authentication_unavailable", ask);
  // the spec has a code for a key that is not valid
  const isKey = /^bearer\s+\S/i.test(request.headers.get("authorization") ?? "");
  const reason = isJoined ? "authorization: came twice" : whyNobody(request);
  if (!user) throw new Refusal(isKey ? "invalid_key" : "unauthenticated", { reason });
  if (typeof user.id !== "string" || user.id === "")
    throw misconfigured("authenticate: must return { id }, a text, or null");
  return { ...from, ...user };
}

/** A request that a limiter decides about. */
export interface RateLimited extends Pick<Admitted, "user" | "route" | "request"> {
  readonly method: string;
  /** True for a poll of a task or an asset, which is free and comes often. */
  readonly isPoll: boolean;
}

/**
 * Decides if a request may pass now: returns undefined, or the time to wait. If it throws, the answer is 503, and the
 * log has the cause.
 */
export interface RateLimit<Env = unknown> extends Checked<Env> {
  (asked: RateLimited, env: Env): TooMany | undefined | Promise<TooMany | undefined>;
}

/** The answer of a limiter that has nothing left. */
export interface TooMany {
  readonly retryAfterMs: number;
  /** The things that were too many, for the answer and the event: `polls`. @default "requests" */
  readonly limit?: string;
}

/** The part that is used of the rate-limit binding of Cloudflare Workers. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Options of {@link workersRateLimit}. */
export interface WorkersRateLimitOptions<Env = unknown> {
  /** The period of the bindings in wrangler.jsonc, in seconds; a refusal says to come back after it. @default 60 */
  readonly periodSeconds?: 10 | 60;
  /** A binding of its own for polls, with a higher limit. @default none: polls are not counted */
  readonly polls?: (env: Env) => RateLimitBinding | undefined;
  /** The key of the count: requests with the same one count together. @default the user's id */
  readonly by?: (asked: RateLimited) => string;
}

/**
 * A limiter on the rate-limit bindings of Cloudflare Workers. Each location counts for itself, and a burst may pass
 * before the count is known: it bounds what is spent, and does not meter it. For that there is a budget.
 *
 * @example
 * ```ts
 * const rateLimit = workersRateLimit<Env>((env) => env.RATE_LIMITER, { polls: (env) => env.POLL_LIMITER });
 * createProxy<Env>({ ...options, rateLimit });
 * ```
 */
export function workersRateLimit<Env>(
  binding: (env: Env) => RateLimitBinding | undefined,
  { periodSeconds = 60, polls, by = ({ user }) => user.id }: WorkersRateLimitOptions<Env> = {},
): RateLimit<Env> {
  const costs = (env: Env) => readBinding("rateLimit", binding, env);
  const looks = polls && ((env: Env) => readBinding("rateLimit: polls", polls, env));
  return Object.assign(limit, { checks: looks ? [costs, looks] : [costs] });

  async function limit(asked: RateLimited, env: Env): Promise<TooMany | undefined> {
    const limiter = await (asked.isPoll ? looks?.(env) : costs(env));
    if (!limiter) return undefined;
    const { success } = await limiter.limit({ key: by(asked) });
    if (success) return undefined;
    return { retryAfterMs: periodSeconds * 1000, limit: asked.isPoll ? "polls" : "requests" };
  }
}

/** @throws {Refusal} 429 for too many requests, 503 where `rateLimit` fails */
export async function checkRate<Env>(
  rateLimit: RateLimit<Env> | undefined,
  { request, env, user }: Pick<Admitted<Env>, "request" | "env" | "user">,
  route: Route,
): Promise<void> {
  if (!rateLimit) return;
  const asked = { user, route: route.name, method: route.method, isPoll: isPoll(route), request };
  const limited = () => rateLimit(asked, env);
  const verdict = await decided("rateLimit", "rate_limit_unavailable", limited);
  if (verdict) throw tooMany("rate_limited", verdict.retryAfterMs, { limit: verdict.limit ?? "requests" });
}

/**
 * Bounds the streams that one user has open in this isolate. The returned function counts one stream, and returns the
 * function that gives the count back. A count that is never given back ends after `longestMs`.
 *
 * @throws {Refusal} the function: 429 `too_many_streams`
 */
export function createStreamCount(most: number, longestMs: number) {
  const open = new Map<string, Set<{ readonly until: number }>>();
  return (userId: string) => {
    const now = Date.now();
    const streams = open.get(userId) ?? new Set();
    for (const stream of streams) if (stream.until <= now) streams.delete(stream);
    if (streams.size >= most) throw tooMany("too_many_streams", 1000, { limit: "streamsPerUser" });
    const stream = { until: now + longestMs };
    open.set(userId, streams.add(stream));
    return () => {
      if (streams.delete(stream) && streams.size === 0) open.delete(userId);
    };
  };
}

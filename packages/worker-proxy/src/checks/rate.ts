import type { RateLimit, RateLimited, TooMany } from "../api/options.js";
import type { AdmittedRequest } from "../api/plugin.js";
import { readBinding } from "../refusals/read-option.js";
import { decide, describeWait, Refusal } from "../refusals/refusal.js";
import { isPoll, type Route } from "./path.js";

/** The part that is used of the rate-limit binding of Cloudflare Workers. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Options of {@link workersRateLimit}. */
export interface WorkersRateLimitOptions<Env = unknown> {
  /** The period of the bindings in wrangler.jsonc, in seconds: the `retry-after` of a refusal. @default 60 */
  readonly periodSeconds?: 10 | 60;
  /** Another binding for polls, with a higher limit. @default none: polls are not counted */
  readonly polls?: (env: Env) => RateLimitBinding | undefined;
  /** The key of the count: requests with the same one count together. @default the user's id */
  readonly by?: (limited: RateLimited) => string;
}

/**
 * A limiter on the rate-limit bindings of Cloudflare Workers. Each location counts for itself, and a burst may pass
 * before the count is known, so a rate limit is not an exact limit of costs. A budget is.
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

  async function limit(limited: RateLimited, env: Env): Promise<TooMany | undefined> {
    const limiter = await (limited.isPoll ? looks?.(env) : costs(env));
    if (!limiter) return undefined;
    const { success } = await limiter.limit({ key: by(limited) });
    if (success) return undefined;
    return { retryAfterMs: periodSeconds * 1000, limit: limited.isPoll ? "polls" : "requests" };
  }
}

/** @throws {Refusal} 429 for too many requests, 503 where `rateLimit` fails */
export async function checkRate<Env>(
  rateLimit: RateLimit<Env>,
  { request, env, user }: Pick<AdmittedRequest<Env>, "request" | "env" | "user">,
  route: Route,
): Promise<void> {
  const limited = { user, route: route.name, method: route.method, isPoll: isPoll(route), request };
  const verdict = await decide("rateLimit", "rate_limit_unavailable", () => rateLimit(limited, env));
  if (!verdict) return;
  const { limit = "requests", retryAfterMs } = verdict;
  throw new Refusal("rate_limited", { limit, ...describeWait(retryAfterMs) });
}

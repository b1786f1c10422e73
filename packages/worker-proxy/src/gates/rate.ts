import type { RouteName, User } from "../admitted.js";

/** What a limiter is asked about: somebody is about to ask something. */
export interface RateLimited {
  readonly user: User;
  readonly route: RouteName;
  readonly method: string;
  readonly request: Request;
}

/** Says how long to wait, in milliseconds; undefined lets the request through. If it throws, nobody gets through. */
export type RateLimit<Env = unknown> = (
  asked: RateLimited,
  env: Env,
) => TooMany | undefined | Promise<TooMany | undefined>;

/** The answer of a limiter, or of a meter, that has nothing left. */
export interface TooMany {
  readonly retryAfterMs: number;
}

/** What is used of the rate-limit binding of Cloudflare Workers. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** What {@link workersRateLimit} takes beside the binding. */
export interface WorkersRateLimitOptions {
  /** The period of the binding in wrangler.jsonc, in seconds; a refusal says to come back after it. @default 60 */
  readonly periodSeconds?: 10 | 60;
  /** Whether questions about tasks count too. @default false: only what costs does */
  readonly reads?: boolean;
  /** Whose requests count together. @default the user's id */
  readonly by?: (asked: RateLimited) => string;
}

/**
 * A limiter on the rate-limit binding of Cloudflare Workers. Each location counts for itself, and a burst may pass
 * before the count is known: it bounds what is spent, and does not meter it. For that there is a budget.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, rateLimit: workersRateLimit((env) => env.RATE_LIMITER) });
 * ```
 */
export function workersRateLimit<Env>(
  binding: (env: Env) => RateLimitBinding,
  { periodSeconds = 60, reads = false, by = ({ user }) => user.id }: WorkersRateLimitOptions = {},
): RateLimit<Env> {
  return async (asked, env) => {
    if (asked.method === "GET" && !reads) return undefined;
    const { success } = await binding(env).limit({ key: by(asked) });
    return success ? undefined : { retryAfterMs: periodSeconds * 1000 };
  };
}

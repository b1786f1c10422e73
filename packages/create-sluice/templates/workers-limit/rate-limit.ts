import { type RateLimitBinding, workersRateLimit } from "@sluice/worker-proxy";

/** Limits the requests of one user per minute, with the binding in wrangler.jsonc. */
export const rateLimit = workersRateLimit<object>(
  (env) => (env as { RATE_LIMITER?: RateLimitBinding }).RATE_LIMITER,
);

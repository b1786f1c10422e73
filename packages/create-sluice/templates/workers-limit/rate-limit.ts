import { type RateLimitBinding, workersRateLimit } from "@sluice/worker-proxy";

/** Bounds the requests of one user in a minute, by the binding in wrangler.jsonc. */
export const rateLimit = workersRateLimit<object>(
  (env) => (env as { RATE_LIMITER?: RateLimitBinding }).RATE_LIMITER,
);

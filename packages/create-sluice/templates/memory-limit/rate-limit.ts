import type { RateLimit } from "@sluice/worker-proxy";

const REQUESTS = 30;
const MINUTE_MS = 60_000;

/** Requests of each user in the current minute. Each process counts separately. */
let counts = new Map<string, number>();
let began = 0;

/** Limits the requests of one user per minute. */
export const rateLimit: RateLimit = ({ user }) => {
  const now = Date.now();
  // a clock that is set back also begins a new minute
  if (Math.abs(now - began) >= MINUTE_MS) [counts, began] = [new Map(), now];
  const count = (counts.get(user.id) ?? 0) + 1;
  counts.set(user.id, count);
  return count > REQUESTS ? { retryAfterMs: began + MINUTE_MS - now } : undefined;
};

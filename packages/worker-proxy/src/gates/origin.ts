import { Refusal } from "../refusal.js";

const EXPOSED = "retry-after, x-request-id, x-sluice-dropped, x-sluice-offers, x-sluice-source, x-stream-id";

/**
 * The headers that every answer to this request carries. CORS keeps other pages from reading answers; it is not
 * authentication, and a request without an `Origin` is as good as what `authenticate` says of it.
 */
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

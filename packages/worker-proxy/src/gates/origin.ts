import { Refusal } from "../refusals/refusal.js";

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

/**
 * @throws {Refusal} 403 for a page that is not allowed to call, and for a request that a browser calls cross-site without
 *   an origin. An image or a link of another site has none, and only reads.
 */
export function checkOrigin({ method, headers }: Request, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin !== null && !allowed.includes(origin))
    throw new Refusal("origin_not_allowed", { advice: origin });
  const isForeign = origin === null && headers.get("sec-fetch-site") === "cross-site";
  if (isForeign && method !== "GET" && method !== "HEAD") throw new Refusal("origin_not_allowed");
}

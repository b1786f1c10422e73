import { Refusal } from "./refusal.js";

const EXPOSED = "retry-after, x-request-id, x-sluice-source";

/**
 * The headers that every answer to this request carries. CORS keeps other pages from reading answers; it is not
 * authentication, and a request without an `Origin` is as good as what `authenticate` says of it.
 */
export function corsHeadersOf(origin: string | null, allowed: readonly string[]): Record<string, string> {
  const always = { vary: "Origin" };
  if (origin === null || !allowed.includes(origin)) return always;
  return { ...always, "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED };
}

/** @throws {Refusal} 403 for a page that is not allowed to call */
export function checkOrigin(origin: string | null, allowed: readonly string[]): void {
  if (origin !== null && !allowed.includes(origin))
    throw new Refusal(
      403,
      "origin_not_allowed",
      "this page may not call the proxy; its operator lists `origins`",
    );
}

/** The answer to a preflight: which methods and headers the page may send. */
export function preflight(methods: string, cors: Record<string, string>): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...cors,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": "authorization, content-type, x-requested-with",
      "access-control-max-age": "7200",
    },
  });
}

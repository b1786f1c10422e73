import { Refusal } from "../refusal.js";

const EXPOSED =
  "retry-after, server-timing, x-request-id, x-sluice-dropped, x-sluice-offers, x-sluice-source, x-stream-id";

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

const HEADER_NAMES = /^[\w\-, ]{1,1000}$/;

/**
 * The answer to a preflight: which methods and headers the page may send. Nobody is authenticated here. A path that is
 * not served allows all of the proxy's: the page can then read why its request is refused.
 */
export function preflight(request: Request, methods: string): Response {
  // an allowed page may send any header, since none is forwarded; client libraries add a dozen of their own
  const asked = request.headers.get("access-control-request-headers") ?? "";
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods || "GET, POST, DELETE",
      "access-control-allow-headers": HEADER_NAMES.test(asked) ? asked : "authorization, content-type",
      "access-control-max-age": "7200",
    },
  });
}

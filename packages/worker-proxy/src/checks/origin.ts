import { Refusal } from "../refusals/refusal.js";

const EXPOSED =
  "retry-after, x-request-id, x-sluice-account, x-sluice-dropped-fields, x-sluice-features, x-sluice-source, x-stream-id";
const HEADER_NAMES = /^[\w\-, ]{1,1000}$/;

/** The CORS headers of every response. They keep other pages from reading it; they authenticate no user. */
export function createCorsHeaders(origin: string | null, allowed: readonly string[], credentials = false) {
  if (origin === null || !allowed.includes(origin)) return {};
  return {
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
  const isReading = method === "GET" || method === "HEAD";
  const isForeign = origin === null && !isReading && headers.get("sec-fetch-site") === "cross-site";
  if (isForeign || (origin !== null && !allowed.includes(origin)))
    throw new Refusal("origin_not_allowed", { advice: origin ?? undefined });
}

/** The response to a preflight. A path that is not served allows all methods: the page can then read the refusal. */
export function respondToPreflight(request: Request, methods: string): Response {
  // an allowed page may send any header, since none is forwarded; client libraries add a dozen
  const headerNames = request.headers.get("access-control-request-headers") ?? "";
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods || "GET, POST, DELETE",
      "access-control-allow-headers": HEADER_NAMES.test(headerNames)
        ? headerNames
        : "authorization, content-type",
      "access-control-max-age": "7200",
    },
  });
}

/* Loaded when a browser asks before it calls from another origin. */

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

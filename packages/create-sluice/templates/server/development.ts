/** True on this machine alone: in a development build or server, reached under a local address. */
export function isDevelopment(request: Request): boolean {
  if (process.env.NODE_ENV !== "development") return false;
  return ["localhost", "127.0.0.1", "[::1]"].includes(new URL(pageOf(request)).hostname);
}

/** Returns the origin under which the browser reached the server. */
export function pageOf(request: Request): string {
  const { protocol, host } = new URL(request.url);
  return `${protocol}//${request.headers.get("host") ?? host}`;
}

/** Checks for development on this machine: a development build or server with a local URL. */
export function isDevelopment(request: Request): boolean {
  if (process.env.NODE_ENV !== "development") return false;
  return ["localhost", "127.0.0.1", "[::1]"].includes(new URL(readOrigin(request)).hostname);
}

/** Returns the origin that the browser used. */
export function readOrigin(request: Request): string {
  const { protocol, host } = new URL(request.url);
  return `${protocol}//${request.headers.get("host") ?? host}`;
}

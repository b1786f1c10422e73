const MEANT_AS_INIT = ["method", "headers", "body", "signal"];

/**
 * The request of a `fetch(input, init)`. A server's handler gets something else in second place (an
 * environment, a server, connection details): what has no word of an `init` is left alone.
 */
export function toRequest(input: Request | URL | string, init?: RequestInit): Request {
  const isRequest = typeof input === "object" && "headers" in input;
  const isInit = typeof init === "object" && init !== null && MEANT_AS_INIT.some((word) => word in init);
  // not rebuilt without need: some servers' requests only look like the platform's
  if (isRequest && !isInit) return input;
  return new Request(input, init);
}

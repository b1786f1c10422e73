const MEANT_AS_INIT = ["method", "headers", "body", "signal"];

/**
 * Returns the request of a call `fetch(input, init)`. A server gives its handler another second argument (an
 * environment, connection details): an object without a field of an `init` is ignored.
 */
export function toRequest(input: Request | URL | string, init?: RequestInit): Request {
  const isRequest = typeof input === "object" && "headers" in input;
  const isInit = typeof init === "object" && init !== null && MEANT_AS_INIT.some((word) => word in init);
  // used as it is: the requests of some servers only look like the platform's
  if (isRequest && !isInit) return input;
  return new Request(input, init);
}

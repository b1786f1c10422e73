const INIT_FIELDS = ["method", "headers", "body", "signal"];

/**
 * Returns the request of a `fetch(input, init)` call. Servers pass another second argument to their handler (an
 * environment, connection details): an object without a field of an `init` is ignored.
 */
export function toRequest(input: Request | URL | string, init?: RequestInit): Request {
  const isRequest = typeof input === "object" && "headers" in input;
  const isInit = typeof init === "object" && init !== null && INIT_FIELDS.some((field) => field in init);
  // the requests of some servers only look like the platform's, so return them unchanged
  if (isRequest && !isInit) return input;
  return new Request(input, init);
}

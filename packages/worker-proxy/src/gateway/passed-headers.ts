import { openKeyWatch } from "./keys.js";

const PASSED = {
  "x-request-id": /^[\w.:-]{1,128}$/,
  "retry-after": /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/,
};

/** Returns the headers of an answer that may go on to the client, where they are well-formed. */
export function passedHeadersOf({ headers }: Response, keys: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, shape] of Object.entries(PASSED)) {
    const value = headers.get(name);
    if (value !== null && shape.test(value) && !openKeyWatch(keys)(value)) passed[name] = value;
  }
  return passed;
}

import type { Answer } from "./http.js";

/** Headers that let a page of any origin read an answer, its request id, retry time and range included. */
export const openToAll = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "x-request-id, x-sluice-unknown-fields, retry-after, content-range, accept-ranges, etag",
};

/** Answers a preflight request. */
export function preflight(methods: readonly string[]): Answer {
  const headers = {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": "*, authorization",
    "access-control-max-age": "600",
  };
  return { status: 204, headers, body: "" };
}

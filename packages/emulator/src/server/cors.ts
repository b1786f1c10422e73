import type { HandlerResponse } from "./http.js";

/** Headers that let a page of any origin read a response, including its request id, retry time and range. */
export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "x-request-id, x-sluice-unknown-fields, retry-after, content-range, accept-ranges, etag",
};

/** Handles a preflight request. */
export function handlePreflight(methods: readonly string[]): HandlerResponse {
  const headers = {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": "*, authorization",
    "access-control-max-age": "600",
  };
  return { status: 204, headers, body: "" };
}

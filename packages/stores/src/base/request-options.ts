import type { RequestOptions } from "@sluice/core";

/** Options of a store that apply to each of its requests. */
export interface StoreRequestOptions
  extends Pick<RequestOptions, "headers" | "timeout" | "retry" | "checks"> {}

/** Picks the request options from the options of a store. */
export function pickRequestOptions({
  headers,
  timeout,
  retry,
  checks,
}: StoreRequestOptions): StoreRequestOptions {
  return { headers, timeout, retry, checks };
}

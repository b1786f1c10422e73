import type { RequestOptions } from "@sluice/core";

/** Options of a store that each of its requests gets. */
export interface StoreRequestOptions
  extends Pick<RequestOptions, "headers" | "timeout" | "retry" | "checks"> {}

/** Picks them from the options of a store. */
export function requestOptionsOf({
  headers,
  timeout,
  retry,
  checks,
}: StoreRequestOptions): StoreRequestOptions {
  return { headers, timeout, retry, checks };
}

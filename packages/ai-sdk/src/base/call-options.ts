import type { RequestOptions } from "@sluice/core";

/** Options of a call that are not in the body of its request. */
export interface CallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Converts options of the SDK to options of the client. Drops the SDK's `user-agent`, which a proxy's CORS rules do not
 * list.
 */
export function toRequestOptions({ abortSignal, headers = {} }: CallOptions): RequestOptions {
  const sentHeaders = Object.entries(headers).filter(
    (header): header is [string, string] =>
      header[1] !== undefined && header[0].toLowerCase() !== "user-agent",
  );
  return { signal: abortSignal, headers: Object.fromEntries(sentHeaders) };
}

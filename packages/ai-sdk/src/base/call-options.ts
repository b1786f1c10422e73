import type { RequestOptions } from "@sluice/core";

/** The part of a call's options that is not in the body of its request. */
export interface CallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Makes the client's options of a call. The SDK's `user-agent` stays behind: a proxy's CORS rules do not list it. */
export function requestOptionsOf({ abortSignal, headers = {} }: CallOptions): RequestOptions {
  const sent = Object.entries(headers).filter(
    (header): header is [string, string] =>
      header[1] !== undefined && header[0].toLowerCase() !== "user-agent",
  );
  return { signal: abortSignal, headers: Object.fromEntries(sent) };
}

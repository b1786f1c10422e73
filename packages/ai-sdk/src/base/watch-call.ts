import type { SharedV4Headers, SharedV4Warning } from "@ai-sdk/provider";
import type { Client } from "@sluice/core";
import { billOnce } from "@sluice/core/extend";

/** A client for one call of the SDK. It records what the SDK's result needs besides the response. */
export interface WatchedCall {
  readonly client: Client;
  /** Warnings of the client so far: ignored parts of the request or the response. */
  readonly warnings: readonly SharedV4Warning[];
  /** Headers of the last response. Empty before the first. */
  readonly headers: SharedV4Headers;
}

/** Creates the client of one call. It retries what may be billed only if the proxy stores the request. */
export function watchCall(client: Client): WatchedCall {
  const warnings: SharedV4Warning[] = [];
  let headers: SharedV4Headers = {};
  return {
    client: {
      ...billOnce(client),
      warn(issue, callId) {
        const { path, message } = issue;
        warnings.push({ type: "other", message: path ? `${path}: ${message}` : message });
        client.warn(issue, callId);
      },
      async fetch(...args) {
        const response = await client.fetch(...args);
        headers = Object.fromEntries(
          [...response.headers].map(([name, value]) => [name, client.scrub(value)]),
        );
        return response;
      },
    },
    warnings,
    get headers() {
      return headers;
    },
  };
}

/** Returns the request id of the gateway or the proxy as a field of `providerMetadata`. */
export function readRequestId({ headers }: Pick<WatchedCall, "headers">): { readonly requestId?: string } {
  const requestId = headers["x-request-id"];
  return requestId === undefined ? {} : { requestId };
}

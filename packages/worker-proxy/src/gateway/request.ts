import type { Admitted } from "../admitted.js";
import type { Route } from "../gates/path.js";
import { logError } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import type { Added } from "./additions.js";
import { type Call, failed } from "./call.js";

/** A request to the gateway. */
export interface Outgoing {
  readonly method: string;
  /** A constant one, or one with an id that was checked. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Headers beside the proxy's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Asks the gateway. Of the client's request goes nothing but what `body` holds: the headers are ours, the path is
 * the table's.
 *
 * @throws {Refusal} 502 when there is no answer, 504 when it takes too long, 499 when the client has left
 */
export async function ask<Env>(
  { fetch, limits }: Settings<Env>,
  { baseURL, apiKeys }: Setup,
  outgoing: Outgoing,
  env: Env,
  call: Call,
): Promise<Response> {
  const [key = "", next] = apiKeys;
  const answer = await askWith(key);
  if (answer.status !== 401 || next === undefined) return answer;
  logError("the gateway refused the first key with 401; the second is used");
  answer.body?.cancel().catch(() => {});
  return await askWith(next);

  function askWith(apiKey: string): Promise<Response> {
    if (call.stopped) throw failed(call.stopped, "not_reached");
    const request = requestOf(baseURL, apiKey, outgoing, call.signal);
    const startedAt = Date.now();
    const connected = async () => {
      try {
        return await fetch(request, env);
      } catch (error) {
        const ms = Date.now() - startedAt;
        const { unanswered } = await import("./read-answer.js");
        throw unanswered(error, ms);
      }
    };
    const limit = { ms: limits.headersMs, late: "upstream_timeout" } as const;
    return call.wait(connected, "upstream_unreachable", limit);
  }
}

function requestOf(
  baseURL: string,
  apiKey: string,
  { method, path, body, headers }: Outgoing,
  signal: AbortSignal,
): Request {
  return new Request(baseURL + path, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${apiKey}`,
      accept: body?.["stream"] === true ? "text/event-stream" : "application/json",
      // a compressed stream is held back until it ends by whatever decompresses it on the way
      "accept-encoding": "identity",
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // a redirect would take the key to another address
    redirect: "manual",
    signal,
  });
}

/** Makes the request to the gateway: the table's path, the checked body, and headers of the proxy's own. */
export function outgoingOf<Env>(
  { path, method }: Route,
  { id, body, headers = {} }: Admitted<Env>,
): Outgoing {
  return { method, path: id === undefined ? path : path.replace("{id}", id), body, headers };
}

/**
 * Makes the headers that a request to the gateway gets beside the key: the request id, a well-formed `traceparent` of
 * the client, and those of `upstreamHeaders`.
 *
 * @throws {Refusal} 500 `misconfigured` for a header that can't be sent
 */
export async function addedHeaders<Env>(
  { upstreamHeaders }: Settings<Env>,
  admitted: Admitted<Env>,
  requestId: string,
): Promise<Added> {
  const own = { "x-request-id": requestId };
  const trace = admitted.request.headers.get("traceparent");
  if (!upstreamHeaders && trace === null) return { headers: own, keys: [] };
  const { readHeaders } = await import("./additions.js");
  const { headers, keys } = await readHeaders(upstreamHeaders ?? (() => ({})), admitted, trace ?? "");
  return { headers: { ...headers, ...own }, keys };
}

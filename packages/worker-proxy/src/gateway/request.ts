import type { GatewayConnection } from "../api/host.js";
import { logError } from "../refusals/log.js";
import { type Call, createFailure } from "./call.js";

/** Notes on a request to the gateway, for its event. */
export interface RequestNotes {
  readonly known: { upstreamStatus?: number; attempts?: number };
}

/** A request to the gateway. */
export interface Outgoing {
  readonly method: string;
  /** A constant path, or a path with a checked id. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Headers beside the proxy's own. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Statuses with which a gateway refuses a key: it is wrong, its account is empty, or it may not be used. */
const REFUSES_KEY = [401, 402, 403];

/**
 * Sends a request to the gateway. The caller can't override the proxy's headers. A refused key is replaced by the
 * second key while keys are rotated.
 *
 * @throws {Refusal} 502 without a response, 504 if it takes too long, 499 if the client has left
 */
export async function sendRequest(
  { baseURL, apiKeys, accepted, send, headersMs }: GatewayConnection,
  { method, path, body, headers }: Outgoing,
  { call, report }: { readonly call: Call; readonly report?: RequestNotes | undefined },
): Promise<Response> {
  // as bytes: Node would hold a text and its bytes until the response ends
  const bytes = body && new TextEncoder().encode(JSON.stringify(body));
  // the key that the gateway accepted last is tried first
  const keys = accepted.key === apiKeys[1] ? [...apiKeys].reverse() : apiKeys;
  let response = await sendWithKey(keys[0]);
  const { status } = response;
  if (REFUSES_KEY.includes(status) && keys[1] !== undefined) {
    response.body?.cancel().catch(() => {});
    if (report) report.known.attempts = 2;
    response = await sendWithKey(keys[1]);
    if (!REFUSES_KEY.includes(response.status)) {
      accepted.key = keys[1];
      logError(`the gateway refused one key with ${status}; the other is used from now on`);
    }
  }
  if (report) report.known.upstreamStatus = response.status;
  return response;

  async function sendWithKey(apiKey = ""): Promise<Response> {
    if (call.stopped) throw createFailure(call.stopped, "not_reached");
    const init: RequestInit = {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${apiKey}`,
        accept: body?.["stream"] === true ? "text/event-stream" : "application/json",
        // a server on the way that decompresses a stream holds it back until its end
        "accept-encoding": "identity",
        ...(body && { "content-type": "application/json" }),
      },
      ...(bytes && { body: bytes }),
      // a redirect would take the key to another address
      redirect: "manual",
      signal: call.signal,
    };
    const connect = () =>
      send(baseURL + path, init).catch((error: unknown) => {
        throw createFailure(isUnconnected(error) ? "upstream_unreachable" : "upstream_cut", undefined, error);
      });
    return await call.wait(connect, "upstream_unreachable", { ms: headersMs, late: "upstream_timeout" });
  }
}

/**
 * Codes of errors that Node and Bun throw before a request is sent: the name is unknown, no connection is made, or the
 * certificate is wrong.
 */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_CERT_ALTNAME_INVALID|CERT_HAS_EXPIRED|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT(?:_IN_CHAIN)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/**
 * Returns true if the request was certainly not sent, so that it may be sent again. workerd throws the same error for a
 * refused connection and for a connection that breaks after the request: the function returns false for both.
 */
function isUnconnected(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return NO_CONNECTION.test(String(cause?.code ?? code));
}

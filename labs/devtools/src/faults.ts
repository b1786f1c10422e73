/**
 * Faults that the developer tools play on the app.
 *
 * - `cut`: the connection breaks after some events of a stream
 * - `stall`: the stream stops after some events, and the connection stays open
 * - `rate-limit`: 429 with `Retry-After: 2`; the request is not sent
 * - `server-error`: 500; the request is not sent
 * - `lost-response`: the request arrives, and its response is lost
 * - `offline`: no request is sent, and open responses break
 */
export type Fault = "cut" | "stall" | "rate-limit" | "server-error" | "lost-response" | "offline";

/** For each fault: the label of its button, and the requests that it affects. */
export const faultTexts: Readonly<Record<Fault, { readonly name: string; readonly waitsFor: string }>> = {
  cut: { name: "Cut", waitsFor: "the next stream; it breaks after three events" },
  stall: { name: "Stall", waitsFor: "the next stream; it stops after three events" },
  "rate-limit": { name: "429", waitsFor: "the next request that may be billed; Retry-After is 2 s" },
  "server-error": { name: "500", waitsFor: "the next request that may be billed" },
  "lost-response": { name: "Lost response", waitsFor: "the next request that may be billed; it arrives" },
  offline: { name: "Offline", waitsFor: "every request, until you switch it off" },
};

/** Number of events of a stream before it is cut or stalls. */
export const EVENTS_BEFORE_FAULT = 3;

const RETRY_AFTER_SECONDS = 2;

const refusals = {
  "rate-limit": { status: 429, code: "rate_limit_exceeded", message: "Too many requests" },
  "server-error": { status: 500, code: "internal_error", message: "Internal error" },
} as const;

/**
 * Creates the response of a fault that needs no server. Returns undefined for other faults.
 *
 * @param features `x-sluice-features` of the server's last response: without it, the client would retry less
 */
export function createResponse(fault: Fault | undefined, features: string | null): Response | undefined {
  if (fault !== "rate-limit" && fault !== "server-error") return undefined;
  const { status, code, message } = refusals[fault];
  const headers = new Headers({ "content-type": "application/json" });
  if (features !== null) headers.set("x-sluice-features", features);
  if (status === 429) headers.set("retry-after", String(RETRY_AFTER_SECONDS));
  const error = { message: `${message} (made by the Sluice Devtools)`, type: code, code };
  return new Response(JSON.stringify({ error }), { status, headers });
}

/** Creates the error of a browser's `fetch` for a failed connection. */
export function createConnectionError(): TypeError {
  return new TypeError("Failed to fetch");
}

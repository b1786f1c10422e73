import { createTestClient } from "./gateway.js";

type ClientOptions = Parameters<typeof createTestClient>[1];

/**
 * Fault that a POST meets: `request` loses the request, and `response` loses its response. A promise loses the response
 * when it resolves. A number is the status with which the proxy refuses the request.
 */
type Fault = "response" | "request" | number | Promise<void>;

/** Memory of a proxy: the response to each key. */
type Memory = Map<string, { readonly body: string; readonly response: Promise<Response> }>;

/**
 * Simulates a proxy with `idempotency()` (wire, 6.4) and a network that can lose a request or a response. `gateway` returns
 * the response to each request that reaches the gateway.
 */
export function openOnce(
  gateway: (nth: number, request: Request) => Response | Promise<Response>,
  { features = "idempotency", ...options }: ClientOptions & { features?: string | null } = {},
) {
  const memory: Memory = new Map();
  const sent: string[] = [];
  const keys: (string | null)[] = [];
  const healthRequests: Request[] = [];
  const faults: Fault[] = [];
  const headers: Record<string, string> = features === null ? {} : { "x-sluice-features": features };

  return {
    /** Bodies that reached the gateway. */
    sent,
    /** Keys of the POSTs of the page. */
    keys,
    /** Requests for `/health`. */
    healthRequests,
    /** Loses the next POST or its response. With `never`, its response stays pending until the returned function is called. */
    lose(what: "response" | "request" | "never" = "response"): () => void {
      let end: () => void = () => {};
      const lostLater = new Promise<void>((resolve) => {
        end = resolve;
      });
      faults.push(what === "never" ? lostLater : what);
      return end;
    },
    /** Refuses the next POST with `status`. The proxy does not store its key. */
    turnAway: (status: number) => void faults.push(status),
    /** Opens a page: its own client before the same proxy. */
    page: (more: ClientOptions = {}) =>
      createTestClient(respond, { random: () => 0, ...options, ...more }).client,
  };

  async function respond(request: Request): Promise<Response> {
    if (request.method === "GET") {
      healthRequests.push(request);
      return Response.json({ status: "ok" }, { headers });
    }
    const key = request.headers.get("idempotency-key");
    keys.push(key);
    const fault = faults.shift();
    if (fault === "request") throw new TypeError("fetch failed");
    if (typeof fault === "number")
      return Response.json({ error: { message: "turned away", code: "no" } }, { status: fault });
    const response = await respondOnce(key, await request.clone().text(), request);
    if (fault) {
      await fault;
      throw new TypeError("fetch failed");
    }
    return new Response(response.body, {
      status: response.status,
      headers: { ...Object.fromEntries(response.headers), ...headers },
    });
  }

  async function respondOnce(key: string | null, body: string, request: Request): Promise<Response> {
    const known = key === null ? undefined : memory.get(key);
    if (known && known.body !== body)
      return Response.json({ error: { code: "idempotency_mismatch", message: "another" } }, { status: 422 });
    if (known) return (await known.response).clone();
    sent.push(body);
    const pending = Promise.resolve(gateway(sent.length, request));
    if (key !== null && features !== null) memory.set(key, { body, response: pending });
    const response = await pending;
    // the gateway did not bill the request, so the proxy forgets the key
    if (key !== null && response.status >= 400 && response.status < 500 && response.status !== 408)
      memory.delete(key);
    return response.clone();
  }
}

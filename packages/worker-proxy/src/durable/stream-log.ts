import type { Admitted, Extension, Meter } from "../admitted.js";
import type { ProxyOptions } from "../options.js";
import { readBinding } from "../refusal.js";
import { checkedOptions } from "../settings.js";
import {
  askObject,
  CALLER,
  type Caller,
  type DurableObjectClass,
  type DurableObjectHandlers,
  hashOf,
  type ObjectNamespace,
  type ObjectState,
  objectNamed,
  objectRefusal,
} from "./platform.js";
import { openStreamLog } from "./stream-log-object.js";

/** Options of {@link streamLogObject}: the way to the gateway, as `createProxy` takes it, the meter, and times. */
export interface StreamLogOptions<Env = unknown>
  extends Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits"> {
  /**
   * The proxy's meter: the object reserves and settles in the proxy's place, once for each stream. Without it a proxy
   * that has a meter answers 500.
   * @default none
   */
  readonly meter?: Meter<Env> | undefined;
  /**
   * Time for which an answer without a reader goes on, in milliseconds; then the gateway's connection is closed. Checked
   * every 30 seconds. @default 60_000
   */
  readonly orphanMs?: number;
  /** Time for which an answer is kept after its end, in milliseconds. @default 600_000 */
  readonly keepMs?: number;
  /** Size of the events that are kept, in bytes; beyond it, an answer goes on for its readers alone. @default 8_388_608 */
  readonly logBytes?: number;
}

/**
 * Makes the class of Durable Objects that each hold one chat stream. An object sends one request to the gateway, stores
 * the events, and goes on when its readers leave. It never sends the request again: a stream whose object was restarted
 * (a deploy, an eviction) ends with the code `stream_interrupted`. The answer is kept in the object's storage; the request
 * and the key are not.
 *
 * The object calls the gateway itself: give it the `baseURL`, `apiKey`, `fetch`, `limits` and `meter` of the proxy.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const StreamLog = streamLogObject<Env>({ ...gateway, meter });
 * ```
 */
export function streamLogObject<Env = unknown>(options: StreamLogOptions<Env>): DurableObjectClass<Env> {
  const { orphanMs = 60_000, keepMs = 600_000, logBytes = 8 * 1024 * 1024, ...gateway } = options;
  // every comparison with what is no number is false, and the limit would never be reached
  for (const [name, value] of Object.entries({ orphanMs, keepMs, logBytes }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`${name}: give a whole number from 1 up`);
  // the proxy has checked the user and the request
  const settings = checkedOptions<Env>({ ...gateway, authenticate: "public", origins: [], models: ["any"] });
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const log = openStreamLog(state, env, { settings, orphanMs, keepMs, logBytes });
      this.fetch = log.fetch;
      this.alarm = log.alarm;
    }
  };
}

/**
 * Lets chat streams survive a reload or a broken connection, by a {@link streamLogObject}.
 *
 * An answer with `stream: true` has an `x-stream-id`, and each of its events an `id`. `GET /v1/chat/streams/{id}` returns
 * what follows the event that `Last-Event-ID` names, and goes on as the answer does; 204 where nothing follows. A client
 * that leaves does not stop the answer; `DELETE /v1/chat/streams/{id}` does. Only the user of the first request can do
 * either. A request with the `idempotency-key` of an earlier one gets that one's stream, and costs nothing.
 *
 * @param namespace the binding to the class that `streamLogObject` made
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, extensions: [streamLog((env) => env.STREAM_LOG)] });
 * ```
 */
export function streamLog<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
): Extension<Env> {
  const path = "/v1/chat/streams/{id}";
  const bound = (env: Env) => readBinding("streamLog", namespace, env);
  return {
    checks: [bound],
    offers: { chat: "chat-once", health: "chat-once" },
    routes: [
      { name: "chat", method: "GET", path, id: "own", serve },
      { name: "chat", method: "DELETE", path, id: "own", serve },
    ],
    send: (admitted, isMetered) =>
      admitted.route === "chat" && admitted.body?.["stream"] === true ? send(admitted, isMetered) : undefined,
  };

  async function send(admitted: Admitted<Env>, isMetered: boolean): Promise<Response> {
    const { request, user, model, body, headers: added = {} } = admitted;
    const key = request.headers.get("idempotency-key");
    if (key !== null && !/^[\x21-\x7e]{1,255}$/.test(key)) throw objectRefusal("idempotency_key_invalid");
    const id = key === null ? randomId() : (await hashOf(`${user.id}\n${key}`)).slice(0, 32);
    const caller: Caller = { user, isMetered, headers: added, ...(model !== undefined && { model }) };
    const headers = { [CALLER]: encodeURIComponent(JSON.stringify(caller)) };
    const answer = await reach(admitted, id, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok || answer.headers.get("content-type") !== "text/event-stream") return answer;
    const response = new Response(answer.body, answer);
    response.headers.set("x-stream-id", id);
    return response;
  }

  async function serve(admitted: Admitted<Env>): Promise<Response> {
    const { id = "", request } = admitted;
    // an id that was never issued creates no object
    if (!/^[0-9a-f]{32}$/.test(id)) throw objectRefusal("stream_not_found");
    const seen = request.headers.get("last-event-id") ?? "0";
    if (!/^\d{1,15}$/.test(seen)) throw objectRefusal("event_id_invalid");
    return reach(admitted, id, { method: request.method, headers: { "last-event-id": seen } });
  }

  /** The user is part of the object's name: with another user's id nothing is found. */
  async function reach(
    { env, user, request }: Admitted<Env>,
    id: string,
    init: RequestInit,
  ): Promise<Response> {
    const log = objectNamed(await bound(env), `${await hashOf(user.id)}:${id}`);
    return askObject(log, new Request("https://stream-log.invalid/", { ...init, signal: request.signal }));
  }
}

/** 128 random bits: an id and a session of its user are all that is needed to read the answer. */
function randomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

import type { Admitted } from "../admitted.js";
import { readBinding } from "../env.js";
import type { Extension } from "../extension.js";
import { STALL_MS } from "../gateway/answer.js";
import { ask } from "../gateway/request.js";
import type { ProxyOptions } from "../options.js";
import { misconfigured, Refusal } from "../refusal.js";
import { checkedOptions, type Settings, setupOf } from "../settings.js";
import { hashOf, objectNamed } from "./object-name.js";
import type { DurableObjectClass, DurableObjectHandlers, ObjectNamespace, ObjectState } from "./platform.js";
import { type AskGateway, OWN, openStreamLog } from "./stream-log-object.js";

/** What {@link streamLogObject} takes: how the gateway is reached, as `createProxy` takes it, and how long things are kept. */
export interface StreamLogOptions<Env = unknown>
  extends Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits"> {
  /**
   * How long an answer goes on that nobody reads, in milliseconds; then the gateway is hung up on. It is looked at each
   * 30 seconds. @default 60_000
   */
  readonly orphanMs?: number;
  /** How long an answer is kept after its end, in milliseconds. @default 600_000 */
  readonly keepMs?: number;
  /** How much of an answer is kept, in bytes of its stream; beyond, it goes on for who reads it. @default 8_388_608 */
  readonly logBytes?: number;
}

/**
 * Makes the class of Durable Objects of which each holds one chat stream. **Experimental.** It asks the gateway once,
 * writes down what comes, and goes on when its reader leaves. It never asks twice: a stream whose object was restarted
 * (a deploy, an eviction) ends with the code `stream_interrupted`. The answer is kept in the object's storage; the
 * question and the key are not.
 *
 * The object calls the gateway itself: give it the `baseURL`, `apiKey`, `fetch` and `limits` that the proxy has.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const StreamLog = streamLogObject<Env>(gateway);
 * ```
 */
export function streamLogObject<Env = unknown>(options: StreamLogOptions<Env>): DurableObjectClass<Env> {
  const { orphanMs = 60_000, keepMs = 600_000, logBytes = 8 * 1024 * 1024, ...gateway } = options;
  // one that is no number would never be reached
  for (const [name, value] of Object.entries({ orphanMs, keepMs, logBytes }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`${name}: give a whole number from 1 up`);
  // who may ask, and for what, was decided before
  const settings = checkedOptions<Env>({ ...gateway, authenticate: "public", origins: [], models: ["any"] });
  const { stallMs = STALL_MS, totalMs } = settings.limits;
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const askGateway = askWith(settings, env);
      const log = openStreamLog(state, { ask: askGateway, stallMs, totalMs, orphanMs, keepMs, logBytes });
      this.fetch = log.fetch;
      this.alarm = log.alarm;
    }
  };
}

function askWith<Env>(settings: Settings<Env>, env: Env): AskGateway {
  return async (body, call) => {
    const setup = await setupOf(settings, env, "stream-log.invalid");
    const outgoing = { method: "POST", path: "/v1/chat/completions", body };
    return {
      response: await ask(settings, setup, outgoing, env, call),
      keys: setup.apiKeys,
    };
  };
}

/**
 * Lets chat streams survive a reload or a broken connection, by a {@link streamLogObject}. **Experimental.**
 *
 * An answer with `stream: true` says its `x-stream-id`, and each event its `id`. `GET /v1/chat/streams/{id}` gives the
 * stream again, after the event that `Last-Event-ID` names, and goes on with it; 204 where nothing follows. Who leaves
 * does not stop it; `DELETE /v1/chat/streams/{id}` does. Only the user who asked can do either. A request with the
 * `idempotency-key` of an earlier one gets that one's stream.
 *
 * @param namespace the binding to the class that `streamLogObject` made
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, extensions: [streamLog((env) => env.STREAM_LOG)] });
 * ```
 */
export function streamLog<Env = unknown>(namespace: (env: Env) => ObjectNamespace): Extension<Env> {
  const path = "/v1/chat/streams/{id}";
  const bound = (env: Env) => readBinding("streamLog", namespace, env);
  return {
    checks: [bound],
    routes: [
      { name: "chat", method: "GET", path, id: "own", serve },
      { name: "chat", method: "DELETE", path, id: "own", serve },
    ],
    send: (admitted, isMetered) => {
      if (admitted.route !== "chat" || admitted.body?.["stream"] !== true) return undefined;
      // the object asks the gateway, and reserves nothing
      if (isMetered) throw misconfigured("streamLog: can't be used together with a meter");
      return send(admitted);
    },
  };

  async function send(admitted: Admitted<Env>): Promise<Response> {
    const key = admitted.request.headers.get("idempotency-key");
    if (key !== null && !/^[\x21-\x7e]{1,255}$/.test(key)) throw BAD_KEY;
    const id = key === null ? randomId() : (await hashOf(`${admitted.user.id}\n${key}`)).slice(0, 32);
    const answer = await reach(admitted, id, { method: "POST", body: JSON.stringify(admitted.body) });
    if (!answer.ok || answer.headers.get("content-type") !== "text/event-stream") return answer;
    const response = new Response(answer.body, answer);
    response.headers.set("x-stream-id", id);
    return response;
  }

  async function serve(admitted: Admitted<Env>): Promise<Response> {
    const { method, headers } = admitted.request;
    const seen = headers.get("last-event-id") ?? "0";
    if (!/^\d{1,15}$/.test(seen)) throw BAD_EVENT_ID;
    return reach(admitted, admitted.id ?? "", { method, headers: { "last-event-id": seen } });
  }

  /** The user is part of the object's name: with another user's id one finds nothing. */
  async function reach(
    { env, user, request }: Admitted<Env>,
    id: string,
    init: RequestInit,
  ): Promise<Response> {
    const log = objectNamed(bound(env), `${await hashOf(user.id)}:${id}`);
    const answer = await log.fetch(
      new Request("https://stream-log.invalid/", { ...init, signal: request.signal }),
    );
    // what the object itself refused is no answer of the gateway
    if (answer.headers.get(OWN) !== null) throw refusalIn(answer.status, await answer.text());
    return answer;
  }
}

const BAD_KEY = new Refusal(
  400,
  "invalid_request",
  "idempotency-key: send 1 to 255 visible ASCII characters",
);
const BAD_EVENT_ID = new Refusal(
  400,
  "invalid_request",
  "last-event-id: send the id of an event of this stream",
);

function refusalIn(status: number, text: string): Refusal {
  const { error } = JSON.parse(text) as { error: Pick<Refusal, "message" | "type" | "code"> };
  return new Refusal(status, error.code, error.message, { type: error.type });
}

/** 128 random bits: whoever has an id and its user's session has the answer. */
function randomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

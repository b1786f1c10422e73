import type { AdmittedRequest, Meter, OnJobEvent, ProxyOptions, ProxyPlugin } from "@sluice/worker-proxy";
import { ensure, hashOf, markKept, openWay, readBinding } from "@sluice/worker-proxy/internal";
import {
  askObject,
  CALLER,
  classOf,
  type DurableObjectClass,
  type ObjectNamespace,
  objectNamed,
  REPLAYED,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { eraseIn, idsIn, userIndexIn, withUserIndex } from "../objects/user-index.js";
import { openStreamLog } from "./object.js";
import { streamOperations } from "./operations.js";
import { END_CODE, OWN, type StreamCaller } from "./setup.js";

/** Options of {@link streamLogObject}: the way to the gateway, as `createProxy` takes it, the meter, and times. */
export interface StreamLogOptions<Env = unknown>
  extends Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits" | "timeout"> {
  /**
   * The binding to this class itself. Objects of a user count their open streams in one more object: `maxStreamsPerUser` of
   * `limits` bounds what is open at the gateway, whether it is read or not.
   */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
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
  /** The most answers of one user that are kept; beyond it, the oldest is deleted, which is an event. @default 50 */
  readonly keptPerUser?: number;
  /**
   * Receives one event of kind `answer` at the end of each answer, with the stream's id. Another one, with the outcome
   * `dropped`, follows where an answer is deleted before its time; after a crash it may come twice.
   * @default none
   */
  readonly onEvent?: OnJobEvent<Env> | undefined;
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
 * export const StreamLog = streamLogObject<Env>({ ...gateway, meter, namespace: (env) => env.STREAM_LOG });
 * ```
 */
export function streamLogObject<Env = unknown>(options: StreamLogOptions<Env>): DurableObjectClass<Env> {
  const { namespace, onEvent, ...others } = options;
  const {
    orphanMs = 60_000,
    keepMs = 600_000,
    logBytes = 8 * 1024 * 1024,
    keptPerUser = 50,
    ...gateway
  } = others;
  ensure(
    typeof namespace === "function",
    "namespace: give the binding to this class, (env) => env.STREAM_LOG",
  );
  // every comparison with what is no number is false, and the limit would never be reached
  for (const [name, value] of Object.entries({ orphanMs, keepMs, logBytes, keptPerUser }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`${name}: give a whole number from 1 up`);
  const setup = { way: openWay(gateway), namespace, orphanMs, keepMs, logBytes, keptPerUser, onEvent };
  return classOf((state, env) => withUserIndex(state, () => openStreamLog(state, env, setup)));
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
 * export default createProxy<Env>({ ...options, plugins: [streamLog((env) => env.STREAM_LOG)] });
 * ```
 */
export function streamLog<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
): ProxyPlugin<Env> {
  const path = "/v1/chat/streams/{id}";
  const bound = (env: Env) => readBinding("streamLog", namespace, env);
  return {
    checks: [bound],
    offers: { chat: "chat-once", health: "chat-once" },
    boundsStreams: true,
    userData: { name: "streams", eraseUser, exportUser },
    operations: streamOperations(openUser),
    routes: [
      { name: "chat", method: "GET", path, id: "own", serve },
      { name: "chat", method: "DELETE", path, id: "own", serve },
    ],
    send: (admitted, isMetered) =>
      admitted.route === "chat" && admitted.body?.["stream"] === true ? send(admitted, isMetered) : undefined,
  };

  async function send(admitted: AdmittedRequest<Env>, isMetered: boolean): Promise<Response> {
    const { request, user, model, body, isPublic = false, headers: added = {} } = admitted;
    const key = request.headers.get("idempotency-key");
    if (key !== null && !/^[\x21-\x7e]{1,255}$/.test(key)) throw objectRefusal("idempotency_key_invalid");
    const id = key === null ? randomId() : (await hashOf(`${user.id}\n${key}`)).slice(0, 32);
    const caller: StreamCaller = {
      id,
      user,
      isMetered,
      isPublic,
      headers: added,
      ...(model !== undefined && { model }),
    };
    const headers = { [CALLER]: encodeURIComponent(JSON.stringify(caller)) };
    const answer = await reach(admitted, id, { method: "POST", headers, body: JSON.stringify(body) });
    const isReplayed = answer.headers.has(REPLAYED);
    if (!answer.ok || answer.headers.get("content-type") !== "text/event-stream")
      return markKept(answer, { isReplayed });
    const response = new Response(answer.body, answer);
    response.headers.set("x-stream-id", id);
    return markKept(response, { streamId: id, isReplayed, endCode: () => endCode(admitted, id) });
  }

  async function serve(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { id = "", request } = admitted;
    // an id that was never issued creates no object
    if (!/^[0-9a-f]{32}$/.test(id)) throw objectRefusal("stream_not_found");
    const seen = request.headers.get("last-event-id") ?? "0";
    if (!/^\d{1,15}$/.test(seen)) throw objectRefusal("event_id_invalid");
    const { method } = request;
    const answer = await reach(admitted, id, { method, headers: { "last-event-id": seen } });
    const kept = { streamId: id, isReplayed: true, endCode: () => endCode(admitted, id) };
    return method === "GET" ? markKept(answer, kept) : answer;
  }

  /** Returns the code of a stream's end: the answer itself passes unread. */
  async function endCode({ env, user }: AdmittedRequest<Env>, id: string): Promise<string | undefined> {
    const object = objectNamed(await bound(env), `${await hashOf(user.id)}:${id}`);
    const { headers } = await object.fetch(new Request(`https://stream-log.invalid${OWN.end}`));
    return headers.get(END_CODE) || undefined;
  }

  async function eraseUser(env: Env, userId: string): Promise<void> {
    const { index, ask } = await openUser(env, userId);
    await eraseIn(index, async (id) => {
      const { ok, status } = await ask(id, OWN.erase, "DELETE");
      if (!ok) throw new Error(`the answer ${id} said ${status}`);
    });
  }

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    const { index, ask } = await openUser(env, userId);
    const streams: object[] = [];
    for await (const id of idsIn(index)) {
      const answer = await ask(id, OWN.export);
      if (answer.ok) streams.push({ id, ...((await answer.json()) as object) });
      else await answer.body?.cancel();
    }
    return streams;
  }

  async function openUser(env: Env, userId: string) {
    const objects = await bound(env);
    const user = await hashOf(userId);
    return {
      index: userIndexIn(objects, user),
      async ask(id: string, path: string, method = "GET"): Promise<Response> {
        const request = new Request(`https://stream-log.invalid${path}`, { method });
        return await objectNamed(objects, `${user}:${id}`).fetch(request);
      },
    };
  }

  /** The user is part of the object's name: with another user's id nothing is found. */
  async function reach(
    { env, user, request }: AdmittedRequest<Env>,
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

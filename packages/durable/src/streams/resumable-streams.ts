import type { ProxyPlugin } from "@sluice/worker-proxy";
import { type AdmittedRequest, definePlugin, hashText } from "@sluice/worker-proxy/plugin";
import { checkSignal } from "../host/check-signal.js";
import { createJobs, readKey } from "../jobs/jobs.js";
import { jobRefusal } from "../jobs/refusals.js";
import { createResponse } from "../jobs/response-stream.js";
import { checkMilliseconds, checkNames, checkWhole } from "../shared/check-options.js";
import { isUnbilled, respond } from "./respond.js";

/** Options of {@link resumableStreams}. */
export interface ResumableStreamsOptions {
  /**
   * Milliseconds for which a stream continues without a reader. Then the proxy closes its connection to the gateway.
   * @default 60_000
   */
  readonly idleTimeoutMs?: number;
  /** Milliseconds for which a response is stored after its end. @default 600_000 */
  readonly retentionMs?: number;
  /**
   * Maximum stored size of one response, in bytes. Later events are not stored: only connected readers receive them.
   * @default 8_388_608
   */
  readonly maxBytes?: number;
  /**
   * Maximum number of stored responses of one user. Beyond it the oldest is deleted, and a job event reports `dropped`.
   * @default 50
   */
  readonly maxPerUser?: number;
}

const PATH = "/v1/chat/streams/{id}";

/**
 * Lets chat streams survive a reload or a broken connection.
 *
 * The response to a request with `stream: true` has the header `x-stream-id`, and each event has an `id`.
 *
 * - `GET /v1/chat/streams/{id}` returns the events after `Last-Event-ID` and continues until the response ends. The
 *   status is 204 if the response has ended and `Last-Event-ID` names its last event.
 * - `DELETE /v1/chat/streams/{id}` stops the response. A client that disconnects does not stop it.
 * - Only the user who sent the request can read or stop its response.
 * - A repeated request with the same `idempotency-key` gets the stored response and costs nothing.
 *
 * A request is never sent twice. If the process ends during a stream, the stream ends with the code
 * `stream_interrupted`, and the reserved amount is spent. `limits.maxStreamsPerUser` of the proxy bounds the streams of
 * a user that are open at the gateway, with or without readers. It does not apply under `authenticate: "public"`, where
 * all callers are one user: there `rateLimit` of the proxy bounds the requests.
 *
 * The proxy must have a `host`. The plugin reads all other settings from the proxy's options.
 *
 * @throws {TypeError} for an unknown or invalid option
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, host: nodeHost({ file: "sluice.db" }), plugins: [resumableStreams()] });
 * ```
 */
export function resumableStreams<Env = unknown>(options: ResumableStreamsOptions = {}): ProxyPlugin<Env> {
  const {
    idleTimeoutMs = 60_000,
    retentionMs = 600_000,
    maxBytes = 8 * 1024 * 1024,
    maxPerUser = 50,
  } = options;
  checkNames("resumableStreams", options, ["idleTimeoutMs", "retentionMs", "maxBytes", "maxPerUser"]);
  let maxOpen: number | undefined;
  const jobs = createJobs({
    plugin: "resumableStreams",
    kind: "streams",
    eventJob: "chat",
    isStream: true,
    retentionMs: checkMilliseconds("retentionMs", retentionMs),
    maxStored: checkWhole("maxPerUser", maxPerUser),
    maxBytes: checkWhole("maxBytes", maxBytes),
    idleTimeoutMs: checkMilliseconds("idleTimeoutMs", idleTimeoutMs),
    lostCode: "stream_interrupted",
    respond,
    isFree: isUnbilled,
  });
  return definePlugin({
    storage: jobs.storage,
    connect(server) {
      jobs.connect(server as never);
      maxOpen = server.limits.maxStreamsPerUser;
    },
    createRoutes: jobs.createRoutes,
    features: { chat: "resumable-streams", health: "resumable-streams" },
    boundsStreams: true,
    userData: jobs.userData,
    routes: [
      { name: "chat", method: "GET", path: PATH, id: "own", serve },
      { name: "chat", method: "DELETE", path: PATH, id: "own", serve },
    ],
    send: (admitted) =>
      admitted.route === "chat" && admitted.body?.["stream"] === true
        ? send(admitted as AdmittedRequest<unknown>)
        : undefined,
  });

  async function send(admitted: AdmittedRequest<unknown>) {
    checkSignal();
    const { request, user, env, isPublic = false } = admitted;
    const key = readKey(request);
    const id = key === null ? makeId() : (await hashText(`${user.id}\n${key}`)).slice(0, 32);
    const sent = await jobs.send(admitted, {
      ...{ id, eventId: id },
      // all public callers are one user: a limit per user would let one caller block the others
      maxOpen: isPublic ? undefined : maxOpen,
    });
    const { head, isReplayed } = sent;
    const response = createResponse(sent);
    if (head.type !== "text/event-stream") return { response, isReplayed };
    response.headers.set("x-stream-id", id);
    return { response, streamId: id, isReplayed, endCode: () => jobs.readEndCode(env, user.id, id) };
  }

  async function serve(admitted: AdmittedRequest<Env>) {
    const { id = "", request, env, user } = admitted;
    if (!/^[0-9a-f]{32}$/.test(id)) throw jobRefusal("stream_not_found");
    const seen = request.headers.get("last-event-id") ?? "0";
    if (!/^\d{1,15}$/.test(seen)) throw jobRefusal("event_id_invalid");
    if (request.method === "DELETE") {
      if (!(await jobs.stop(env, user.id, id, "stopped"))) throw jobRefusal("stream_not_found");
      return new Response(null, { status: 204 });
    }
    checkSignal();
    const input = { id, mode: "rest", after: Number(seen) } as const;
    const opened = await jobs.open(admitted as AdmittedRequest<unknown>, input);
    if (!opened) throw jobRefusal("stream_not_found");
    const endCode = () => jobs.readEndCode(env, user.id, id);
    return { response: createResponse(opened), streamId: id, isReplayed: true, endCode };
  }
}

/** Makes an id of 128 random bits. The id and a session of its user give access to the response. */
function makeId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

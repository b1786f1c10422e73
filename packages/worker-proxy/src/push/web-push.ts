import { buildPushPayload } from "@block65/webcrypto-web-push";
import type { Admitted, Extension } from "../admitted.js";
import {
  type DurableObjectClass,
  type DurableObjectHandlers,
  hashOf,
  type ObjectNamespace,
  type ObjectState,
  objectNamed,
} from "../durable/platform.js";
import type { EndedTask } from "../durable/video-watch.js";
import { limited } from "../gateway/call.js";
import { type FollowUp, NoticeError } from "../notify/after-end.js";
import { decided, ensure, readBinding, readOption } from "../refusal.js";
import { checkedTarget, PUSH_SERVICES, type PushTarget } from "./endpoint.js";
import { openSubscriptions, type SubscriptionsRequest, type VAPID } from "./subscriptions.js";

/** Options of {@link webPush}. */
export interface WebPushOptions<Env = unknown> {
  /** The binding to the class that is exported: `PushSubscriptions`. */
  readonly subscriptions: (env: Env) => ObjectNamespace | undefined;
  /** The keys of this sender. With other keys, all browsers have to subscribe anew. */
  readonly vapid: (env: Env) => VAPID;
  /** The most browsers that one user is notified on; the oldest one makes room. @default 8 */
  readonly mostSubscriptions?: number;
  /**
   * The hosts that a subscription may name; `*.` stands for any names before. @default the services of Chrome, Edge,
   * Firefox and Safari
   */
  readonly services?: readonly string[];
  /** Time for which a push service keeps a notice for a browser that is off, in seconds. @default 86_400 */
  readonly ttlSeconds?: number;
  /** Another way to the push services: a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}

/** Web Push: the paths for pages, the follow-up of a watch, and the class of objects behind both. */
export interface WebPush<Env = unknown> extends Extension<Env>, FollowUp<Env> {
  /** The class of Durable Objects, one for each user: export it under the name that is bound. */
  readonly PushSubscriptions: DurableObjectClass<Env>;
}

/** Time for a push service to answer, in milliseconds. */
const ANSWER_MS = 15_000;

/**
 * Notifies users of the end of their tasks by Web Push: signed with VAPID (RFC 8292), encrypted for one browser alone
 * (RFC 8291). Each task is told once to each browser of its user: not where a page that showed it received the end, and
 * not after the user has removed it. A push that is still to be sent then is withdrawn.
 *
 * - `GET /v1/notifications` gives the public key, `{ publicKey }`.
 * - `POST /v1/notifications` takes a browser's subscription and gives its id, `{ id }`.
 * - `DELETE /v1/notifications/{id}` forgets it.
 *
 * The notice is the JSON `{ type, id, model }`, `type` as in a webhook. It has no prompt and no link.
 *
 * @throws {TypeError} when an option can't work
 * @example
 * ```ts
 * const push = webPush<Env>({ subscriptions: (env) => env.PUSH_SUBSCRIPTIONS, vapid: (env) => vapidOf(env) });
 * export const { PushSubscriptions } = push;
 * export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([push]) });
 * export default createProxy<Env>({ ...options, extensions: [events, push] });
 * ```
 */
export function webPush<Env = unknown>(options: WebPushOptions<Env>): WebPush<Env> {
  const { mostSubscriptions = 8, services = PUSH_SERVICES, ttlSeconds = 86_400 } = options;
  for (const [name, value] of Object.entries({ mostSubscriptions, ttlSeconds }))
    ensure(Number.isSafeInteger(value) && value > 0, `webPush: ${name}: give a whole number from 1 up`);
  const bound = (env: Env) => readBinding("webPush: subscriptions", options.subscriptions, env);
  const keysIn = (env: Env) => readOption("webPush: vapid", options.vapid, env, checkedKeys);
  const path = "/v1/notifications";
  return {
    name: "webPush",
    run,
    withdraw,
    checks: [bound, keysIn],
    offers: { videos: "web-push" },
    routes: [
      { name: "videos", method: "GET", path, id: "own", serve: readKey },
      { name: "videos", method: "POST", path, id: "own", serve: add },
      { name: "videos", method: "DELETE", path: `${path}/{id}`, id: "own", serve: remove },
    ],
    PushSubscriptions: class {
      readonly fetch: DurableObjectHandlers["fetch"];
      readonly alarm: DurableObjectHandlers["alarm"];
      constructor(state: ObjectState, env: Env) {
        const send = (target: PushTarget, notice: string) => sendTo(target, notice, env);
        const object = openSubscriptions(state, send, { mostSubscriptions, services });
        this.fetch = object.fetch;
        this.alarm = object.alarm;
      }
    },
  };

  async function readKey({ env }: Admitted<Env>): Promise<Response> {
    return Response.json({ publicKey: (await keysIn(env)).publicKey });
  }

  async function add({ env, user, body }: Admitted<Env>): Promise<Response> {
    const target = checkedTarget(body, services);
    const id = await hashOf(target.endpoint);
    await change(env, user.id, { do: "add", id, target });
    return Response.json({ id }, { status: 201 });
  }

  async function remove({ env, user, id = "" }: Admitted<Env>): Promise<Response> {
    await change(env, user.id, { do: "remove", id });
    return new Response(null, { status: 204 });
  }

  async function run({ id, userId, taskId, model, state, isShown }: EndedTask, env: Env): Promise<void> {
    if (isShown) return;
    const notice = JSON.stringify({ type: `video.${state}`, id: taskId, ...(model && { model }) });
    await hand(env, userId, { do: "notify", id, notice });
  }

  async function withdraw({ id, userId, isShown }: EndedTask, env: Env): Promise<void> {
    if (!isShown) await hand(env, userId, { do: "cancel", id });
  }

  async function hand(env: Env, userId: string, request: SubscriptionsRequest): Promise<void> {
    await change(env, userId, request).catch(() => {
      throw new NoticeError("the object of the subscriptions failed");
    });
  }

  /** The user's own object: no other user's subscription can be reached. */
  async function change(env: Env, userId: string, request: SubscriptionsRequest): Promise<void> {
    const name = await hashOf(`push\n${userId}`);
    const object = objectNamed(await bound(env), name);
    const init = { method: "POST", body: JSON.stringify(request) };
    await decided("webPush", "extension_unavailable", async () => {
      const answer = await object.fetch(new Request("https://push.invalid/", init));
      if (!answer.ok) throw new Error(`the subscriptions answered with ${answer.status}`);
    });
  }

  async function sendTo({ endpoint, keys }: PushTarget, notice: string, env: Env) {
    try {
      const message = { data: notice, options: { ttl: ttlSeconds } };
      const payload = await buildPushPayload(
        message,
        { endpoint, expirationTime: null, keys },
        await keysIn(env),
      );
      // a service that was given two of one task shows the newer one
      const headers = { ...payload.headers, topic: (await hashOf(notice)).slice(0, 32) };
      const answer = await limited(ANSWER_MS, async (signal) => {
        const request = new Request(endpoint, { ...payload, headers, redirect: "manual", signal });
        return (await options.fetch?.(request, env)) ?? fetch(request);
      });
      await answer.body?.cancel();
      const retryAfter = Number(answer.headers.get("retry-after"));
      return { status: answer.status, retryAfterMs: Math.min(retryAfter || 0, 3600) * 1000 };
    } catch {
      return { status: 0, retryAfterMs: 0 };
    }
  }
}

function checkedKeys(given: unknown): { publicKey: string; privateKey: string; subject: string } {
  const { publicKey, privateKey, subject } = { ...(given as VAPID | undefined) };
  ensure(/^B[\w-]{86}$/.test(publicKey ?? ""), "webPush: vapid: publicKey: give 65 bytes in Base64");
  ensure(/^[\w-]{43}$/.test(privateKey ?? ""), "webPush: vapid: privateKey: give 32 bytes in Base64");
  ensure(
    /^(?:mailto:|https:\/\/)./.test(subject ?? ""),
    "webPush: vapid: subject: give mailto:… or https://…",
  );
  return { publicKey, privateKey, subject } as { publicKey: string; privateKey: string; subject: string };
}

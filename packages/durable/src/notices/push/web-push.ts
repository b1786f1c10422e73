import { buildPushPayload } from "@block65/webcrypto-web-push";
import type { Admitted, Extension, JobEvent, OnJobEvent } from "@sluice/worker-proxy";
import {
  decided,
  ensure,
  hashOf,
  limited,
  logError,
  notifyOf,
  readBinding,
  readOption,
} from "@sluice/worker-proxy/internal";
import { classOf, type DurableObjectClass, type ObjectNamespace, objectNamed } from "../../objects/object.js";
import { type Ended, type FollowUp, factsOf, NoticeError, noticeIds } from "../after-end.js";
import { askLetters, keepLetter, withDeadLetters } from "../dead-letter-object.js";
import { bytesOf } from "./base64.js";
import { checkedTarget, isPoint, PUSH_SERVICES, type PushTarget } from "./endpoint.js";
import { askOwner, withOwner } from "./endpoint-owner.js";
import { noticeOf } from "./notice.js";
import type { PushResult } from "./push-delivery.js";
import { openSubscriptions, type SubscriptionsChange, type VAPID } from "./subscriptions.js";

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
  /**
   * Time after which a browser that has not subscribed again is forgotten, in milliseconds. `useTaskNotifications`
   * subscribes at each load of a page. @default 5_184_000_000 (60 days)
   */
  readonly subscriptionMs?: number;
  /** Time for which a push service keeps a notice for a browser that is off, in seconds. @default 86_400 */
  readonly ttlSeconds?: number;
  /**
   * Receives the `push` events: each attempt that failed, the end of each notice for each browser, and notices and
   * browsers that are dropped, with a `code` that says why. @default none
   */
  readonly onEvent?: OnJobEvent<Env>;
  /** Another way to the push services: a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}

/** Web Push: the paths for pages, the follow-up of a watch, and the class of objects behind both. */
export interface WebPush<Env = unknown> extends Extension<Env>, FollowUp<Env, Ended> {
  /** The class of Durable Objects, one for each user: export it under the name that is bound. */
  readonly PushSubscriptions: DurableObjectClass<Env>;
}

/** Time for a push service to answer, in milliseconds. */
const ANSWER_MS = 15_000;

/**
 * Notifies users of the end of their tasks and turns by Web Push: signed with VAPID (RFC 8292), encrypted for one browser alone
 * (RFC 8291). Each task is told once to each browser of its user: not where a page that showed it received the end, and
 * not after the user has removed it. A push that is still to be sent then is withdrawn.
 *
 * - `GET /v1/notifications` gives the public key, `{ publicKey }`.
 * - `POST /v1/notifications` takes a browser's subscription and gives its id, `{ id }`.
 * - `DELETE /v1/notifications/{id}` forgets it.
 *
 * The notice is the JSON `{ type, id, model }`, `type` as in a webhook. It has no prompt and no link. That of a turn is
 * `{ type, id, conversation }`, with `title` and `text` where the `notices` of the `runner` ask for them. Both are cut where
 * they would be more than a push service takes.
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
  const { mostSubscriptions = 8, services = PUSH_SERVICES, ttlSeconds = 86_400, onEvent } = options;
  const { subscriptionMs = 5_184_000_000 } = options;
  for (const [name, value] of Object.entries({ mostSubscriptions, subscriptionMs, ttlSeconds }))
    ensure(Number.isSafeInteger(value) && value > 0, `webPush: ${name}: give a whole number from 1 up`);
  const bound = (env: Env) => readBinding("webPush: subscriptions", options.subscriptions, env);
  const keysIn = (env: Env) => readOption("webPush: vapid", options.vapid, env, checkedKeys);
  const path = "/v1/notifications";
  return {
    name: "webPush",
    kind: "push",
    run,
    withdraw,
    checks: [bound, keysIn],
    userData: { name: "notifications", eraseUser, exportUser },
    offers: { videos: "web-push" },
    routes: [
      { name: "videos", method: "GET", path, id: "own", serve: readKey },
      { name: "videos", method: "POST", path, id: "own", serve: add },
      { name: "videos", method: "DELETE", path: `${path}/{id}`, id: "own", serve: remove },
    ],
    PushSubscriptions: classOf((state, env) => {
      const report = (event: JobEvent) => notifyOf(onEvent, event, env);
      const user = openSubscriptions(state, {
        ...{ mostSubscriptions, subscriptionMs, services, report },
        send: (target, notice) => sendTo(target, notice, env),
        ownerOf: async (id) => await askOwner(await bound(env), id, { do: "read" }),
        keepLetter: async (letter) => await keepLetter(await bound(env), letter),
      });
      const namespace = () => options.subscriptions(env);
      return withDeadLetters(withOwner(user, state), state, { namespace, kind: "push", report });
    }),
  };

  async function readKey({ env }: Admitted<Env>): Promise<Response> {
    return Response.json({ publicKey: (await keysIn(env)).publicKey });
  }

  /** The browser is claimed first: where the rest fails, nobody is notified on it, and its page tries again. */
  async function add({ env, user, body }: Admitted<Env>): Promise<Response> {
    const target = await checkedTarget(body, services);
    const id = await hashOf(target.endpoint);
    const [namespace, owner] = [await bound(env), await nameOf(user.id)];
    await reached(() => askOwner(namespace, id, { do: "claim", owner, until: Date.now() + subscriptionMs }));
    await change(env, user.id, { do: "add", id, target });
    return Response.json({ id }, { status: 201 });
  }

  async function remove({ env, user, id = "" }: Admitted<Env>): Promise<Response> {
    const [namespace, owner] = [await bound(env), await nameOf(user.id)];
    await change(env, user.id, { do: "remove", id });
    await reached(() => askOwner(namespace, id, { do: "release", owner }));
    return new Response(null, { status: 204 });
  }

  async function run(ended: Ended, env: Env): Promise<void> {
    const { id, userId, isShown, endedAt } = ended;
    if (isShown) return;
    const notice = noticeOf(ended);
    const facts = { ...factsOf(ended), endedAt };
    const { status } = await hand(env, userId, { do: "notify", id, notice, facts });
    if (status === 507) {
      logError(`webPush: its user has too many notices; it is dropped${noticeIds(id, facts)}`);
      const code = "too_many_notices";
      notifyOf(onEvent, { kind: "push", id, outcome: "dropped", code, ...factsOf(ended) }, env);
    }
  }

  async function withdraw({ id, userId, isShown }: Ended, env: Env): Promise<void> {
    if (!isShown) await hand(env, userId, { do: "cancel", id });
  }

  /** Ends what is on its way, and forgets the browsers; each can be the next user's then. */
  async function eraseUser(env: Env, userId: string): Promise<void> {
    const [namespace, owner] = [await bound(env), await nameOf(userId)];
    const answer = await change(env, userId, { do: "list" });
    const { subscriptions } = (await answer.json()) as { subscriptions: { id: string }[] };
    for (const { id } of subscriptions) await askOwner(namespace, id, { do: "release", owner });
    await change(env, userId, { do: "erase" });
    await askLetters(namespace, { do: "removeUser", user: userId });
  }

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    return await (await change(env, userId, { do: "list" })).json();
  }

  async function hand(env: Env, userId: string, request: SubscriptionsChange): Promise<Response> {
    return await change(env, userId, request).catch(() => {
      throw new NoticeError("the object of the subscriptions failed");
    });
  }

  /** The user's own object: no other user's subscription can be reached. */
  async function change(env: Env, userId: string, request: SubscriptionsChange): Promise<Response> {
    const [namespace, name] = [await bound(env), await nameOf(userId)];
    const init = { method: "POST", body: JSON.stringify({ ...request, name }) };
    return await reached(async () => {
      const answer = await objectNamed(namespace, name).fetch(new Request("https://push.invalid/", init));
      if (!answer.ok && answer.status !== 507)
        throw new Error(`the subscriptions answered with ${answer.status}`);
      return answer;
    });
  }

  async function sendTo({ endpoint, keys }: PushTarget, notice: string, env: Env): Promise<PushResult> {
    const vapid = await keysIn(env).catch(() => undefined);
    if (!vapid) return { status: 0, code: "misconfigured", retryAfterMs: 0 };
    const message = { data: notice, options: { ttl: ttlSeconds } };
    const target = { endpoint, expirationTime: null, keys };
    const payload = await buildPushPayload(message, target, vapid).catch(() => undefined);
    if (!payload) return { status: 0, code: "keys_invalid", retryAfterMs: 0 };
    try {
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
      return { status: 0, code: "unreachable", retryAfterMs: 0 };
    }
  }
}

/** The name of the object of a user. */
function nameOf(userId: string): Promise<string> {
  return hashOf(`push\n${userId}`);
}

/** Runs a request to an object; where it fails, the client gets 503. */
function reached<T>(ask: () => Promise<T>): Promise<T> {
  return decided("webPush", "extension_unavailable", ask);
}

type CheckedKeys = Record<keyof VAPID, string>;

/** The keys that were found right: they are read for each push. */
const checked = new Set<string>();

/** @throws {TypeError} for keys that are no pair: no push service takes what they sign */
async function checkedKeys(given: unknown): Promise<CheckedKeys> {
  const { publicKey = "", privateKey = "", subject = "" } = { ...(given as VAPID | undefined) };
  for (const [name, value] of Object.entries({ publicKey, privateKey, subject }))
    ensure(value, `webPush: vapid: ${name}: is the variable set?`);
  const keys = { publicKey: unpadded(publicKey), privateKey: unpadded(privateKey), subject: subject.trim() };
  if (checked.has(JSON.stringify(keys))) return keys;
  ensure(
    await isPoint(keys.publicKey),
    "webPush: vapid: publicKey: give a point of P-256, 65 bytes in Base64",
  );
  ensure(/^[\w-]{43}$/.test(keys.privateKey), "webPush: vapid: privateKey: give 32 bytes in Base64");
  // Apple refuses an address in angle brackets, and what leads to no one
  const isSubject = /^(?:mailto:[^\s<>@]+@[^\s<>@]+|https:\/\/(?!localhost)[^\s<>]+)$/.test(keys.subject);
  ensure(isSubject, "webPush: vapid: subject: give mailto:… or https://…, without brackets and spaces");
  ensure(await isPair(keys), "webPush: vapid: publicKey and privateKey are not of one pair");
  if (checked.size === MOST_CHECKED) checked.clear();
  checked.add(JSON.stringify(keys));
  return keys;
}

/** Pairs of keys that an isolate remembers. */
const MOST_CHECKED = 10;

function unpadded(key: string): string {
  return key.trim().replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Returns true where one key knows the signature of the other. */
async function isPair({ publicKey, privateKey: d }: CheckedKeys): Promise<boolean> {
  const [x, y] = [1, 33].map((from) => base64Of(bytesOf(publicKey).slice(from, from + 32)));
  const curve = { name: "ECDSA", namedCurve: "P-256" };
  const signing = { name: "ECDSA", hash: "SHA-256" };
  const jwk = { kty: "EC", crv: "P-256", x, y } as JsonWebKey;
  const text = new TextEncoder().encode("vapid");
  try {
    const key = await crypto.subtle.importKey("jwk", { ...jwk, d }, curve, false, ["sign"]);
    const mark = await crypto.subtle.sign(signing, key, text);
    const known = await crypto.subtle.importKey("jwk", jwk, curve, false, ["verify"]);
    return await crypto.subtle.verify(signing, known, mark, text);
  } catch {
    return false;
  }
}

function base64Of(bytes: Uint8Array): string {
  return unpadded(btoa(String.fromCharCode(...bytes)));
}

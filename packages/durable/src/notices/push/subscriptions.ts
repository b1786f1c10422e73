import type { JobEvent, JobOutcome } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import type { DurableObjectHandlers, ObjectState } from "../../objects/object.js";
import { noticeIds } from "../after-end.js";
import { resentLetter } from "../dead-letter-object.js";
import type { KeptLetter } from "../dead-letter-rows.js";
import { isPushService, type PushTarget } from "./endpoint.js";
import { type Delivery, openSubscriptionRows } from "./subscription-rows.js";

/** Keys of a sender of Web Push (RFC 8292), in Base64 for addresses. `npx web-push generate-vapid-keys` makes them. */
export interface VAPID {
  readonly publicKey: string | undefined;
  readonly privateKey: string | undefined;
  /** A way to reach you: `mailto:ops@example.com`, or an https address. */
  readonly subject: string | undefined;
}

/** Bounds of the subscriptions of one user. */
export interface SubscriptionBounds {
  /** The most browsers that one user is notified on; the oldest one makes room. */
  readonly mostSubscriptions: number;
  /** Time after which a subscription that is not renewed ends, in milliseconds. */
  readonly subscriptionMs: number;
  readonly services: readonly string[];
}

/** The end of one attempt. `status`: 0 where no push service answered; `code` says why then. */
export interface PushResult {
  readonly status: number;
  readonly code?: "unreachable" | "misconfigured" | "keys_invalid";
  readonly retryAfterMs: number;
}

/** The ways out of the object of a user. */
export interface SubscriptionParts extends SubscriptionBounds {
  /** Sends one notice. */
  send(target: PushTarget, notice: string): Promise<PushResult>;
  /** Returns the name of the object whose user subscribed a browser last. */
  ownerOf(subscription: string): Promise<string | undefined>;
  /** Keeps a dead letter. It is safe to repeat. */
  keepLetter(letter: KeptLetter): Promise<void>;
  report(event: JobEvent): void;
}

/** A change of a user's subscriptions, or a notice for all of them. `name`: of the object that is asked. */
type SubscriptionsRequest = { readonly name: string } & SubscriptionsChange;

/** A change, or a notice. */
export type SubscriptionsChange =
  | { readonly do: "add"; readonly id: string; readonly target: PushTarget }
  | { readonly do: "remove"; readonly id: string }
  | {
      readonly do: "notify";
      readonly id: string;
      readonly notice: string;
      readonly facts: Delivery["facts"];
    }
  | { readonly do: "cancel"; readonly id: string }
  | { readonly do: "list" }
  | { readonly do: "erase" };

const MINUTE_MS = 60_000;
/** Pauses between two tries of one delivery; after the last one it is given up. */
const PAUSES_MS = [5_000, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS] as const;

/** Opens the object of one user: subscriptions of browsers, and notices on their way to them. */
export function openSubscriptions(state: ObjectState, parts: SubscriptionParts): DurableObjectHandlers {
  const { storage } = state;
  const { mostSubscriptions, subscriptionMs, services, report } = parts;
  const store = openSubscriptionRows(state);
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    const letter = await resentLetter(request);
    if (letter !== undefined) return await resend(letter);
    return await enter(await request.json());
  }

  // nothing is awaited between a read and its write
  async function enter(request: SubscriptionsRequest): Promise<Response> {
    if (request.do === "list") return Response.json(listed());
    if (request.do === "erase") return await erase();
    store.tables.create();
    store.name(request.name);
    const now = Date.now();
    let isTaken = true;
    if (request.do === "add") {
      const { id, target } = request;
      for (const oldest of store.subscribe(id, target, now, mostSubscriptions))
        forget(oldest, "too_many_subscriptions");
    }
    if (request.do === "remove") forget(request.id, "unsubscribed");
    if (request.do === "cancel") store.cancel(request.id, now);
    if (request.do === "notify") isTaken = store.notify(request.id, request.notice, request.facts, now);
    await setAlarm();
    return new Response(null, { status: isTaken ? 204 : 507 });
  }

  /** Returns all that is kept of the user, but the secrets between browser and sender. */
  function listed() {
    if (!store.tables.exist()) return { subscriptions: [], notices: [] };
    const subscriptions = store.subscriptions().map(({ id, target: { endpoint }, usedAt }) => {
      return { id, endpoint, usedAt };
    });
    const notices = store.rows("SELECT id, body, until FROM notices WHERE body != ''");
    return { subscriptions, notices };
  }

  async function erase(): Promise<Response> {
    if (store.tables.exist()) for (const { id } of store.subscriptions()) forget(id, "user_erased");
    await storage.deleteAlarm();
    await store.tables.deleteAll();
    return new Response(null, { status: 204 });
  }

  async function resend(letter: string): Promise<Response> {
    const [notice = "", subscription = ""] = letter.split(":");
    const isKnown = store.tables.exist() && store.reopen(notice, subscription, Date.now());
    if (isKnown) await setAlarm();
    return new Response(null, { status: isKnown ? 204 : 404 });
  }

  /** Ends a subscription. What was on its way there is told as dropped. */
  function forget(id: string, code: string): void {
    for (const delivery of store.forget(id)) reportEnd(delivery, "dropped", { code });
  }

  async function alarm(): Promise<void> {
    if (!store.tables.exist()) return;
    const over = Date.now() - subscriptionMs;
    for (const id of store.unused(over)) forget(id, "subscription_over");
    for (const delivery of store.due(Date.now())) if (isOpen(delivery)) await deliver(delivery);
    if (!store.tables.exist()) return;
    for (const delivery of store.letters(Date.now())) await keepLetter(delivery);
    if (!store.tables.exist()) return;
    store.removeOld(Date.now());
    await setAlarm();
  }

  /** One may be withdrawn, or its user erased, while those before it are sent. */
  function isOpen(delivery: Delivery): boolean {
    return store.tables.exist() && store.isOpen(delivery);
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { target, body, subscription, tries } = delivery;
    const pause = PAUSES_MS[tries];
    // the operator may have listed fewer since
    if (!isPushService(target.endpoint, services)) return forget(subscription, "service_not_listed");
    // written first: a try that an eviction cut off counts
    store.putOff(delivery, Date.now() + (pause ?? 0));
    if (!(await isOwn(delivery))) return forgetIfOpen(delivery, "subscription_moved");
    const result = await parts.send(target, body);
    // withdrawn meanwhile
    if (isOpen(delivery)) settle(delivery, result, pause);
  }

  function forgetIfOpen(delivery: Delivery, code: string): void {
    if (isOpen(delivery)) forget(delivery.subscription, code);
  }

  /** Returns false where the browser belongs to another user by now. */
  async function isOwn({ subscription, isClaimed }: Delivery): Promise<boolean> {
    const owner = await parts.ownerOf(subscription);
    return owner === undefined ? !isClaimed : owner === store.ownName();
  }

  function settle(delivery: Delivery, { status, code, retryAfterMs }: PushResult, pause: number | undefined) {
    const upstreamStatus = status || undefined;
    if (status >= 200 && status < 300) {
      store.done(delivery);
      return reportEnd(delivery, "complete", { upstreamStatus });
    }
    const isGone = status === 404 || status === 410 || code === "keys_invalid";
    const mayPass = status === 0 || status === 408 || status === 429 || status >= 500;
    const isOver = isGone || !mayPass || pause === undefined;
    const nextAt = Date.now() + Math.max(pause ?? 0, retryAfterMs);
    logFailure(delivery, status ? `answered with ${status}` : WORDS[code ?? "unreachable"], isOver);
    if (!isOver) {
      store.putOff(delivery, nextAt);
      return reportEnd(delivery, "waiting", { code, upstreamStatus, nextAt });
    }
    if (isGone) store.done(delivery);
    else store.giveUp(delivery, status, Date.now());
    reportEnd(delivery, mayPass && !isGone ? "failed" : "refused", { code, upstreamStatus });
    // what else is on its way there is told as dropped
    if (isGone) forget(delivery.subscription, "subscription_gone");
  }

  function logFailure({ target, notice, facts, tries }: Delivery, what: string, isOver: boolean): void {
    const next = isOver ? "it is given up" : `try ${tries + 1} of ${PAUSES_MS.length + 1}`;
    const { hostname } = new URL(target.endpoint);
    logError(`webPush: ${hostname} ${what}; ${next}${noticeIds(notice, facts)}`);
  }

  async function keepLetter(delivery: Delivery): Promise<void> {
    const { notice, subscription, facts, tries, status } = delivery;
    const { endedAt: _, user = "", ...ids } = facts;
    const letter = { id: `${notice}:${subscription}`, name: "webPush", user, ...ids, attempts: tries };
    try {
      const object = store.ownName();
      // a notice of an earlier version, whose user is not known
      if (object === undefined || user === "") return store.letterKept(delivery, null);
      await parts.keepLetter({ ...letter, object, upstreamStatus: status || undefined, at: Date.now() });
      if (store.tables.exist()) store.letterKept(delivery, null);
    } catch {
      if (store.tables.exist()) store.letterKept(delivery, Date.now() + MINUTE_MS);
      logError(`webPush: a dead letter could not be kept; that is tried again${noticeIds(notice, facts)}`);
    }
  }

  function reportEnd({ notice, facts, tries }: Delivery, outcome: JobOutcome, more: Partial<JobEvent>): void {
    const { endedAt, ...ids } = facts;
    const isTried = outcome !== "dropped";
    report({
      kind: "push",
      id: notice,
      outcome,
      ...ids,
      attempts: tries + (isTried ? 1 : 0),
      ...(outcome !== "waiting" && endedAt !== undefined && { durationMs: Date.now() - endedAt }),
      ...more,
    });
  }

  async function setAlarm(): Promise<void> {
    if (!store.tables.exist()) return;
    const next = store.nextAt(subscriptionMs);
    const at = next && Math.max(next, Date.now());
    if (at === null) return storage.deleteAlarm();
    if (at !== (await storage.getAlarm())) await storage.setAlarm(at);
  }
}

/** Words of the log where no push service answered. */
const WORDS = {
  unreachable: "could not be reached",
  misconfigured: "was not asked: the vapid keys are missing or wrong",
  keys_invalid: "was not asked: the browser's keys are wrong",
} as const;

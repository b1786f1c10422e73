import type { JobEvent, JobOutcome } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import { noticeIds } from "../after-end.js";
import type { KeptLetter } from "../dead-letter-rows.js";
import type { Delivery } from "./delivery-rows.js";
import { isPushService, type PushTarget } from "./endpoint.js";
import type { openSubscriptionRows, StoredSubscription } from "./subscription-rows.js";

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

/** Functions by which the object of a user reaches push services and other objects. */
export interface SubscriptionParts extends SubscriptionBounds {
  /** Sends one notice. */
  send(target: PushTarget, notice: string): Promise<PushResult>;
  /** Returns the name of the object whose user subscribed a browser last. */
  ownerOf(subscription: string): Promise<string | undefined>;
  /** Keeps a dead letter. It is safe to repeat. */
  keepLetter(letter: KeptLetter): Promise<void>;
  report(event: JobEvent): void;
}

const MINUTE_MS = 60_000;
/** Pauses between two tries of one delivery; after the last one it is given up. */
const PAUSES_MS = [5_000, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS] as const;

/** Opens the sending of notices to the browsers of one user: each attempt, its end, and its dead letter. */
export function openDelivering(store: ReturnType<typeof openSubscriptionRows>, parts: SubscriptionParts) {
  const { services, report } = parts;
  return { forget, isOpen, isOwn, deliver, keepLetter };

  /** Ends a subscription. Notices on their way to it are reported as dropped. */
  function forget(id: string, code: string): void {
    for (const delivery of store.forget(id)) reportEnd(delivery, "dropped", { code });
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
    if (!(await isOwn({ ...delivery, id: subscription })))
      return forgetIfOpen(delivery, "subscription_moved");
    const result = await parts.send(target, body);
    // withdrawn meanwhile
    if (isOpen(delivery)) settle(delivery, result, pause);
  }

  function forgetIfOpen(delivery: Delivery, code: string): void {
    if (isOpen(delivery)) forget(delivery.subscription, code);
  }

  /** Returns false where the browser belongs to another user by now. */
  async function isOwn({ id, isClaimed }: Pick<StoredSubscription, "id" | "isClaimed">): Promise<boolean> {
    const owner = await parts.ownerOf(id);
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
    // the other notices on their way to it are reported as dropped
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
}

/** Words of the log where no push service answered. */
const WORDS = {
  unreachable: "could not be reached",
  misconfigured: "was not asked: the vapid keys are missing or wrong",
  keys_invalid: "was not asked: the browser's keys are wrong",
} as const;

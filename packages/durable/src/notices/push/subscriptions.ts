import type { DurableObjectHandlers, ObjectState } from "../../objects/object.js";
import { resentLetter } from "../dead-letter-object.js";
import type { Delivery } from "./delivery-rows.js";
import type { PushTarget } from "./endpoint.js";
import { openDelivering, type SubscriptionParts } from "./push-delivery.js";
import { openSubscriptionRows } from "./subscription-rows.js";

/** Keys of a sender of Web Push (RFC 8292), in Base64 for addresses. `npx web-push generate-vapid-keys` makes them. */
export interface VAPID {
  readonly publicKey: string | undefined;
  readonly privateKey: string | undefined;
  /** A way to reach you: `mailto:ops@example.com`, or an https address. */
  readonly subject: string | undefined;
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

/** Opens the object of one user: subscriptions of browsers, and notices on their way to them. */
export function openSubscriptions(state: ObjectState, parts: SubscriptionParts): DurableObjectHandlers {
  const { storage } = state;
  const { mostSubscriptions, subscriptionMs } = parts;
  const store = openSubscriptionRows(state);
  const { forget, isOpen, isOwn, deliver, keepLetter } = openDelivering(store, parts);
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    const letter = await resentLetter(request);
    if (letter !== undefined) return await resend(letter);
    return await enter(await request.json());
  }

  // nothing is awaited between a read and its write
  async function enter(request: SubscriptionsRequest): Promise<Response> {
    if (request.do === "list") return Response.json(await listed());
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

  /** Returns all that is kept of the user, but the secrets between browser and sender. Other users' browsers are forgotten. */
  async function listed() {
    const none = { subscriptions: [], notices: [] };
    if (!store.tables.exist()) return none;
    const all = await Promise.all(
      store.subscriptions().map(async (one) => ({ ...one, isOwn: await isOwn(one) })),
    );
    // erased meanwhile
    if (!store.tables.exist()) return none;
    for (const { id, isOwn } of all) if (!isOwn) forget(id, "subscription_moved");
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

  async function setAlarm(): Promise<void> {
    if (!store.tables.exist()) return;
    const next = store.nextAt(subscriptionMs);
    const at = next && Math.max(next, Date.now());
    if (at === null) return storage.deleteAlarm();
    if (at !== (await storage.getAlarm())) await storage.setAlarm(at);
  }
}

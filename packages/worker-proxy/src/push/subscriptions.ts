import type { DurableObjectHandlers, ObjectState } from "../durable/platform.js";
import { logError } from "../report.js";
import { isPushService, type PushTarget } from "./endpoint.js";

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
  readonly services: readonly string[];
}

/** Sends one notice; returns the push service's status and the time after which to try again. */
export type SendPush = (
  target: PushTarget,
  notice: string,
) => Promise<{ readonly status: number; readonly retryAfterMs: number }>;

/** A change of a user's subscriptions, or a notice for all of them. */
export type SubscriptionsRequest =
  | { readonly do: "add"; readonly id: string; readonly target: PushTarget }
  | { readonly do: "remove"; readonly id: string }
  | { readonly do: "notify"; readonly id: string; readonly notice: string }
  | { readonly do: "cancel"; readonly id: string };

type Delivery = Record<"notice" | "body" | "subscription" | "target", string> & { readonly tries: number };

const MINUTE_MS = 60_000;
/** Pauses between two tries of one delivery; after the last one it is dropped. */
const PAUSES_MS = [5_000, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS] as const;
/** Time for which a notice is known, so that it is sent once: longer than the watch tries to hand it over. */
const KNOWN_MS = 3 * 24 * 60 * MINUTE_MS;
/** Most notices of one user that are known at a time; more than a user's tasks of three days. */
const MOST_NOTICES = 1000;

/** Opens the object of one user: subscriptions of browsers, and notices on their way to them. */
export function openSubscriptions(
  { storage }: ObjectState,
  send: SendPush,
  { mostSubscriptions, services }: SubscriptionBounds,
): DurableObjectHandlers {
  const { sql } = storage;
  const rows = (query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray();
  createTables();
  return {
    async fetch(request) {
      await enter(await request.json());
      return new Response(null, { status: 204 });
    },
    alarm,
  };

  function createTables(): void {
    sql.exec("CREATE TABLE IF NOT EXISTS subscriptions (id TEXT PRIMARY KEY, target TEXT, addedAt INTEGER)");
    sql.exec("CREATE TABLE IF NOT EXISTS notices (id TEXT PRIMARY KEY, body TEXT, until INTEGER)");
    sql.exec(`CREATE TABLE IF NOT EXISTS deliveries (notice TEXT, subscription TEXT, tries INTEGER, nextAt INTEGER,
      PRIMARY KEY (notice, subscription))`);
  }

  // nothing is awaited between a read and its write
  async function enter(request: SubscriptionsRequest): Promise<void> {
    createTables();
    const now = Date.now();
    if (request.do === "add") {
      const { id, target } = request;
      sql.exec("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?)", id, JSON.stringify(target), now);
      for (const { id: oldest } of rows(
        "SELECT id FROM subscriptions ORDER BY addedAt DESC, id LIMIT -1 OFFSET ?",
        mostSubscriptions,
      ))
        forget(oldest as string);
    }
    if (request.do === "remove") forget(request.id);
    if (request.do === "cancel") cancel(request.id, now);
    if (request.do === "notify") notify(request.id, request.notice, now);
    await setAlarm();
  }

  /** A notice that is known already is on its way, or was sent. */
  function notify(id: string, notice: string, now: number): void {
    if (rows("SELECT id FROM notices WHERE id = ?", id).length > 0) return;
    if (rows("SELECT id FROM notices LIMIT ?", MOST_NOTICES).length === MOST_NOTICES) return;
    sql.exec("INSERT INTO notices VALUES (?, ?, ?)", id, notice, now + KNOWN_MS);
    sql.exec("INSERT INTO deliveries SELECT ?, id, 0, ? FROM subscriptions", id, now);
  }

  /** The notice stays known: one that is on its way here must not begin anew. */
  function cancel(id: string, now: number): void {
    sql.exec("DELETE FROM deliveries WHERE notice = ?", id);
    sql.exec("INSERT OR IGNORE INTO notices VALUES (?, '', ?)", id, now + KNOWN_MS);
  }

  function forget(id: string): void {
    sql.exec("DELETE FROM subscriptions WHERE id = ?", id);
    sql.exec("DELETE FROM deliveries WHERE subscription = ?", id);
  }

  async function alarm(): Promise<void> {
    createTables();
    const due = rows(
      `SELECT notice, body, subscription, target, tries FROM deliveries JOIN notices ON notices.id = notice
        JOIN subscriptions ON subscriptions.id = subscription WHERE nextAt <= ?`,
      Date.now(),
    ) as unknown as Delivery[];
    for (const delivery of due) if (isOpen(delivery)) await deliver(delivery);
    sql.exec("DELETE FROM notices WHERE until <= ?", Date.now());
    await setAlarm();
  }

  /** One may be withdrawn while those before it are sent. */
  function isOpen({ notice, subscription }: Delivery): boolean {
    const query = "SELECT 1 FROM deliveries WHERE notice = ? AND subscription = ?";
    return rows(query, notice, subscription).length > 0;
  }

  async function deliver({ notice, body, subscription, target, tries }: Delivery): Promise<void> {
    const parsed = JSON.parse(target) as PushTarget;
    const done = () =>
      sql.exec("DELETE FROM deliveries WHERE notice = ? AND subscription = ?", notice, subscription);
    const pause = PAUSES_MS[tries];
    const after = (ms: number) =>
      sql.exec(
        "UPDATE deliveries SET tries = ?, nextAt = ? WHERE notice = ? AND subscription = ?",
        tries + 1,
        Date.now() + ms,
        notice,
        subscription,
      );
    // the operator may have listed fewer since
    if (!isPushService(parsed.endpoint, services)) return forget(subscription);
    // written first: a try that an eviction cut off counts
    after(pause ?? 0);
    const { status, retryAfterMs } = await send(parsed, body);
    if (status === 404 || status === 410) return forget(subscription);
    const mayPass = status === 0 || status === 408 || status === 429 || status >= 500;
    if (!mayPass || pause === undefined) done();
    else after(Math.max(pause, retryAfterMs));
    if (status < 200 || status > 299)
      logError(`webPush: ${new URL(parsed.endpoint).hostname} answered with ${status || "nothing"}`);
  }

  async function setAlarm(): Promise<void> {
    const [next] = rows(
      "SELECT min(at) AS at FROM (SELECT nextAt AS at FROM deliveries UNION ALL SELECT until FROM notices)",
    );
    if (typeof next?.["at"] === "number") await storage.setAlarm(Math.max(next["at"], Date.now()));
    else await storage.deleteAlarm();
  }
}

import type { ObjectState } from "../../objects/object.js";
import type { NoticeFacts } from "../after-end.js";
import type { PushTarget } from "./endpoint.js";
import { pushTables } from "./push-tables.js";

/** One notice on its way to one browser. */
export interface Delivery {
  readonly notice: string;
  readonly body: string;
  readonly facts: NoticeFacts & { readonly endedAt?: number };
  readonly subscription: string;
  readonly target: PushTarget;
  /** False for a subscription that an earlier version took: its owner was not asked. */
  readonly isClaimed: boolean;
  readonly tries: number;
  /** The last status of the push service. */
  readonly status?: number | undefined;
}

/** A subscription as it is stored. */
export interface StoredSubscription {
  readonly id: string;
  readonly target: PushTarget;
  /** Time of the last subscribing, in Unix milliseconds. */
  readonly usedAt: number;
}

const DAY_MS = 86_400_000;
/** Time for which a notice is known, so that it is sent once: longer than the watch tries to hand it over. */
const KNOWN_MS = 3 * DAY_MS;
/** Time for which one that was given up can be sent again. */
const LETTER_MS = 7 * DAY_MS;
/** Most notices of one user that are known at a time; more than a user's tasks of three days. */
const MOST_NOTICES = 1000;
/** Deliveries, and notices whose time is over, of one step. */
const STEP = 50;

/** Opens the rows of a user's subscriptions. Each step reads and writes a bounded number of them. */
export function openSubscriptionRows(state: ObjectState) {
  const { sql } = state.storage;
  const tables = pushTables(state);
  const rows = (query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray();
  return {
    tables,
    rows,
    name,
    ownName,
    subscribe,
    subscriptions,
    unused,
    forget,
    notify,
    cancel,
    due,
    isOpen,
    done,
    putOff,
    giveUp,
    letters,
    letterKept,
    reopen,
    removeOld,
    nextAt,
  };

  /** Notes the name of this object. */
  function name(given: string): void {
    if (ownName() === undefined) sql.exec("UPDATE known SET name = ?", given);
  }

  /** Returns the name of this object; undefined where no request since an update has named it. */
  function ownName(): string | undefined {
    return (rows("SELECT name FROM known")[0]?.["name"] as string | null) ?? undefined;
  }

  /** Stores or renews a subscription, and returns those that make room. One that was renewed today is not written. */
  function subscribe(id: string, target: PushTarget, now: number, most: number): readonly string[] {
    const text = JSON.stringify(target);
    const [known] = rows("SELECT target, addedAt FROM subscriptions WHERE id = ? AND isClaimed", id);
    if (known?.["target"] === text && now - Number(known["addedAt"]) < DAY_MS) return [];
    sql.exec("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, 1)", id, text, now);
    const newest = "SELECT id FROM subscriptions ORDER BY addedAt DESC, id LIMIT ? OFFSET ?";
    return rows(newest, STEP, most).map(({ id: oldest }) => oldest as string);
  }

  function subscriptions(): readonly StoredSubscription[] {
    return rows("SELECT id, target, addedAt FROM subscriptions").map((row) => ({
      id: row["id"] as string,
      target: JSON.parse(row["target"] as string) as PushTarget,
      usedAt: Number(row["addedAt"]),
    }));
  }

  /** Returns subscriptions that were not renewed since a time. */
  function unused(since: number): readonly string[] {
    const query = "SELECT id FROM subscriptions WHERE addedAt <= ? ORDER BY addedAt LIMIT ?";
    return rows(query, since, STEP).map(({ id }) => id as string);
  }

  /** Deletes a subscription with its deliveries. Returns what was still on its way there. */
  function forget(id: string): readonly Delivery[] {
    const open = deliveries("nextAt IS NOT NULL AND subscription = ?", id);
    sql.exec("DELETE FROM subscriptions WHERE id = ?", id);
    sql.exec("DELETE FROM deliveries WHERE subscription = ?", id);
    return open;
  }

  /** Takes a notice; one that is known already is on its way, or was sent. Returns false where there is no room. */
  function notify(id: string, body: string, facts: Delivery["facts"], now: number): boolean {
    if (rows("SELECT 1 FROM notices WHERE id = ?", id).length > 0) return true;
    if (count(0) >= MOST_NOTICES) return false;
    count(1);
    sql.exec("INSERT INTO notices VALUES (?, ?, ?, ?)", id, body, now + KNOWN_MS, JSON.stringify(facts));
    sql.exec("INSERT INTO deliveries SELECT ?, id, 0, ?, NULL, NULL FROM subscriptions", id, now);
    return true;
  }

  /** Withdraws a notice. It stays known: one that is on its way here must not begin anew. */
  function cancel(id: string, now: number): void {
    sql.exec("DELETE FROM deliveries WHERE notice = ?", id);
    const added = rows(
      "INSERT OR IGNORE INTO notices (id, body, until) VALUES (?, '', ?) RETURNING 1",
      id,
      now + KNOWN_MS,
    );
    if (added.length > 0) count(1);
  }

  function count(more: number): number {
    if (more !== 0) sql.exec("UPDATE known SET notices = notices + ?", more);
    return Number(rows("SELECT notices FROM known")[0]?.["notices"]);
  }

  function due(now: number): readonly Delivery[] {
    return deliveries("nextAt <= ? ORDER BY nextAt", now);
  }

  /** Returns deliveries whose dead letter is to be kept. */
  function letters(now: number): readonly Delivery[] {
    return deliveries("letterAt <= ? ORDER BY letterAt", now);
  }

  function deliveries(where: string, ...values: unknown[]): readonly Delivery[] {
    return rows(
      `SELECT notice, body, facts, subscription, target, isClaimed, tries, status FROM deliveries
        JOIN notices ON notices.id = notice JOIN subscriptions ON subscriptions.id = subscription
        WHERE ${where} LIMIT ${STEP}`,
      ...values,
    ).map(deliveryIn);
  }

  /** Returns false for a delivery that was withdrawn while those before it were sent. */
  function isOpen({ notice, subscription }: Delivery): boolean {
    const query = "SELECT 1 FROM deliveries WHERE notice = ? AND subscription = ? AND nextAt IS NOT NULL";
    return rows(query, notice, subscription).length > 0;
  }

  function done({ notice, subscription }: Delivery): void {
    sql.exec("DELETE FROM deliveries WHERE notice = ? AND subscription = ?", notice, subscription);
  }

  function putOff({ notice, subscription, tries }: Delivery, at: number): void {
    const set = "UPDATE deliveries SET tries = ?, nextAt = ? WHERE notice = ? AND subscription = ?";
    sql.exec(set, tries + 1, at, notice, subscription);
  }

  /** Ends the attempts. The notice stays for as long as it can be sent again. */
  function giveUp({ notice, subscription }: Delivery, status: number, now: number): void {
    const set = "UPDATE deliveries SET nextAt = NULL, letterAt = ?, status = ?";
    sql.exec(`${set} WHERE notice = ? AND subscription = ?`, now, status, notice, subscription);
    sql.exec("UPDATE notices SET until = max(until, ?) WHERE id = ?", now + LETTER_MS, notice);
  }

  function letterKept({ notice, subscription }: Delivery, nextAt: number | null): void {
    const set = "UPDATE deliveries SET letterAt = ? WHERE notice = ? AND subscription = ?";
    sql.exec(set, nextAt, notice, subscription);
  }

  /** Sends a notice again that was given up. Returns false where it is forgotten, or was withdrawn. */
  function reopen(notice: string, subscription: string, now: number): boolean {
    const where = "WHERE notice = ? AND subscription = ?";
    const set = `UPDATE deliveries SET tries = 0, nextAt = ?, letterAt = NULL ${where} AND nextAt IS NULL`;
    sql.exec(set, now, notice, subscription);
    return rows(`SELECT 1 FROM deliveries ${where}`, notice, subscription).length > 0;
  }

  function removeOld(now: number): void {
    const old = rows("SELECT id FROM notices WHERE until <= ? ORDER BY until LIMIT ?", now, STEP);
    for (const { id } of old) {
      sql.exec("DELETE FROM deliveries WHERE notice = ?", id);
      sql.exec("DELETE FROM notices WHERE id = ?", id);
    }
    if (old.length > 0) count(-old.length);
  }

  /** Returns the time of the next step; null for none. */
  function nextAt(subscriptionMs: number): number | null {
    const [{ at = null } = {}] = rows(
      `SELECT min(at) AS at FROM (SELECT min(nextAt) AS at FROM deliveries WHERE nextAt IS NOT NULL
        UNION ALL SELECT min(letterAt) FROM deliveries WHERE letterAt IS NOT NULL
        UNION ALL SELECT min(until) FROM notices UNION ALL SELECT min(addedAt) + ? FROM subscriptions)`,
      subscriptionMs,
    );
    return at as number | null;
  }
}

function deliveryIn(row: Record<string, unknown>): Delivery {
  const { facts, target, isClaimed, status } = row;
  return {
    ...(row as unknown as Delivery),
    facts: JSON.parse(facts as string) as Delivery["facts"],
    target: JSON.parse(target as string) as PushTarget,
    isClaimed: isClaimed === 1,
    status: (status as number | null) ?? undefined,
  };
}

import type { ObjectState } from "../../objects/object.js";
import { type Delivery, openDeliveryRows, STEP } from "./delivery-rows.js";
import type { PushTarget } from "./endpoint.js";
import { pushTables } from "./push-tables.js";

/** A subscription as it is stored. */
export interface StoredSubscription {
  readonly id: string;
  readonly target: PushTarget;
  /** Time of the last subscribing, in Unix milliseconds. */
  readonly usedAt: number;
  /** False for one that an earlier version took: its owner was not asked. */
  readonly isClaimed: boolean;
}

const DAY_MS = 86_400_000;
/** Time for which a notice is known, so that it is sent once: longer than the watch tries to hand it over. */
const KNOWN_MS = 3 * DAY_MS;
/** Most notices of one user that are known at a time; more than a user's tasks of three days. */
const MOST_NOTICES = 1000;

/** Opens the rows of a user's subscriptions. Each step reads and writes a bounded number of them. */
export function openSubscriptionRows(state: ObjectState) {
  const { sql } = state.storage;
  const tables = pushTables(state);
  const rows = (query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray();
  const { deliveries, ...ofDeliveries } = openDeliveryRows(sql);
  return {
    ...ofDeliveries,
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
    return rows("SELECT id, target, addedAt, isClaimed FROM subscriptions").map((row) => ({
      id: row["id"] as string,
      target: JSON.parse(row["target"] as string) as PushTarget,
      usedAt: Number(row["addedAt"]),
      isClaimed: row["isClaimed"] === 1,
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

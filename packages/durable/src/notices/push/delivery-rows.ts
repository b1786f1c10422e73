import type { ObjectSQL } from "../../objects/object.js";
import type { NoticeFacts } from "../after-end.js";
import type { PushTarget } from "./endpoint.js";

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

/** Deliveries, and notices whose time is over, of one step. */
export const STEP = 50;
const DAY_MS = 86_400_000;
/** Time for which one that was given up can be sent again. */
const LETTER_MS = 7 * DAY_MS;

/** Opens the rows of notices on their way to browsers. */
export function openDeliveryRows(sql: ObjectSQL) {
  const rows = (query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray();
  return { due, letters, deliveries, isOpen, done, putOff, giveUp, letterKept, reopen };

  function due(now: number): readonly Delivery[] {
    return deliveries("nextAt <= ? ORDER BY nextAt LIMIT ?", now, STEP);
  }

  /** Returns deliveries whose dead letter is to be kept. */
  function letters(now: number): readonly Delivery[] {
    return deliveries("letterAt <= ? ORDER BY letterAt LIMIT ?", now, STEP);
  }

  function deliveries(where: string, ...values: unknown[]): readonly Delivery[] {
    return rows(
      `SELECT notice, body, facts, subscription, target, isClaimed, tries, status FROM deliveries
        JOIN notices ON notices.id = notice JOIN subscriptions ON subscriptions.id = subscription
        WHERE ${where}`,
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

import type { ObjectSQL } from "@sluice/durable/internal";
import { conversationRefusal } from "./refusals.js";

/** A lease of a name, by one device, until a time in Unix milliseconds. */
export interface Lease {
  readonly device: string;
  readonly endsAt: number;
}

/** Most leases of one conversation. */
export const MOST_LEASES = 100;

/** Opens the leases of an object whose tables are there: each name belongs to one device, until its time is over. */
export function openLeases(sql: ObjectSQL) {
  return { take, release, isHeld, all };

  /**
   * Takes a lease, or renews it.
   *
   * @returns the lease of another device where that has it
   * @throws {Refusal} 429 `too_many_leases`
   */
  function take(name: string, device: string, ms: number, now: number): Lease | undefined {
    sql.exec("DELETE FROM leases WHERE endsAt <= ?", now);
    const known = find(name);
    if (known && known.device !== device) return known;
    if (!known && all(now).size >= MOST_LEASES)
      throw conversationRefusal("too_many_leases", { what: MOST_LEASES });
    sql.exec("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", name, device, now + ms);
    return undefined;
  }

  /** Gives a lease back. Returns false where the device does not hold it. */
  function release(name: string, device: string, now: number): boolean {
    if (!isHeld(name, device, now)) return false;
    sql.exec("DELETE FROM leases WHERE name = ?", name);
    return true;
  }

  function isHeld(name: string, device: string, now: number): boolean {
    const known = find(name);
    return known !== undefined && known.device === device && known.endsAt > now;
  }

  function all(now: number): ReadonlyMap<string, Lease> {
    const rows = sql.exec("SELECT * FROM leases WHERE endsAt > ?", now).toArray();
    return new Map(rows.map(({ name, device, endsAt }) => [String(name), { device, endsAt } as Lease]));
  }

  function find(name: string): Lease | undefined {
    const [row] = sql.exec("SELECT device, endsAt FROM leases WHERE name = ?", name).toArray();
    return row as Lease | undefined;
  }
}

import { describeWait, Refusal } from "../refusals/refusal.js";
import type { Reason } from "../refusals/texts.js";

/** The bounds of a count. */
interface Bounds {
  /** The largest sum of all users; a refusal for it is `proxy_full`. @default none */
  readonly max?: number;
  /** The largest sum of one user. */
  readonly maxPerUser: number;
  /** The longest time for which an amount counts: not every platform reports that a client has left. */
  readonly maxMs: number;
  /** The name of the limit, and the reason of a refusal for the bound of a user. */
  readonly limit: string;
  readonly reason: Reason;
}

/** The amount of one request. */
export interface Counted {
  /** Adds to the amount. @throws {Refusal} beyond a bound */
  add(amount: number): Counted;
  /** Ends the count of the amount. */
  release(): void;
}

/** An amount in the sums. */
interface Entry {
  readonly userId: string;
  readonly until: number;
  amount: number;
}

/** Counts what open requests hold in this isolate: streams, or bytes of bodies. The returned function opens an amount. */
export function createCount({ max = Infinity, maxPerUser, maxMs, limit, reason }: Bounds) {
  const open = new Set<Entry>();
  const sums = new Map<string, number>();
  let total = 0;
  return (userId: string): Counted => {
    const entry: Entry = { userId, until: Date.now() + maxMs, amount: 0 };
    let isReleased = false;
    const counted: Counted = {
      add(amount) {
        if (isReleased) return counted;
        const findReason = () =>
          (sums.get(userId) ?? 0) + amount > maxPerUser ? reason : total + amount > max && "proxy_full";
        if (findReason()) for (const other of open) if (other.until <= Date.now()) set(other, 0);
        const exceeded = findReason();
        if (exceeded) throw new Refusal(exceeded, { limit, ...describeWait(1000) });
        set(entry, entry.amount + amount);
        return counted;
      },
      release() {
        isReleased = true;
        set(entry, 0);
      },
    };
    return counted;
  };

  function set(entry: Entry, amount: number): void {
    const { userId } = entry;
    const change = amount - entry.amount;
    const sum = (sums.get(userId) ?? 0) + change;
    total += change;
    entry.amount = amount;
    if (amount > 0) open.add(entry);
    else open.delete(entry);
    if (sum > 0) sums.set(userId, sum);
    else sums.delete(userId);
  }
}

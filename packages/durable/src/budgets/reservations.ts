import { type BoundHost, type Exhausted, logError } from "@sluice/worker-proxy/plugin";
import { type BudgetReader, findLimitKeys, isOwn, type Rule, readLimit } from "./limits.js";
import { type KeyLimit, logOverdue, type Reserve, type Reserving, reserve, settle } from "./operations.js";

/** Options of all reservations of a budget. */
export interface ReserveOptions<Env> {
  readonly rules: readonly Rule<Env>[];
  readonly currency: string | undefined;
  readonly windowMs: number;
  readonly reservationTtlMs: number;
}

/** A reservation in the form that other plugins store: an amount, and the keys of the host that hold it. */
export interface Ticket {
  readonly id: string;
  readonly amount: number;
  readonly keys: readonly string[];
}

/** A key, and the limits of this key that a request must fit into. */
type Target = {
  readonly key: string;
  readonly limits: readonly (KeyLimit & { readonly budget: string })[];
};

/** The planned reservation of a request. It is JSON. */
export type Plan = Omit<Reserve, "limits"> & {
  /** The limits of this user only; null if none apply. */
  readonly own: Target | null;
  /** The shared limits. Each list holds the possible keys of one limit; the reservation uses one of them. */
  readonly shared: readonly (readonly Target[])[];
};

/** Maximum time between the end of a window and its sweep, in milliseconds. */
const JITTER_MS = 60 * 60 * 1000;
/** Maximum number of keys of one limit that a request tries. */
const MAX_TRIES = 3;

/** Returns a random delay for the sweep of a window, in milliseconds. */
export function drawJitter(): number {
  return Math.floor(Math.random() * JITTER_MS);
}

/** Plans the reservation of an amount in each limit that applies to a request. */
export async function planReservation<Env>(
  { rules, currency, windowMs, reservationTtlMs }: ReserveOptions<Env>,
  reader: BudgetReader<Env>,
  amount: number,
): Promise<Plan> {
  let own = null as Target | null;
  const shared: (readonly Target[])[] = [];
  for (const rule of rules) {
    const limit = Math.floor(readLimit(rule, reader) / rule.shards);
    const limitKeys = await findLimitKeys(rule, reader, currency, MAX_TRIES);
    const targets = limitKeys.map(({ key, name }) => ({ key, limits: [{ name, limit, budget: rule.name }] }));
    const [first] = targets;
    if (!isOwn(rule)) shared.push(targets);
    else if (first) own = { key: first.key, limits: [...(own?.limits ?? []), ...first.limits] };
  }
  const known = { id: crypto.randomUUID(), amount, windowMs, ttlMs: reservationTtlMs };
  return { ...known, jitterMs: drawJitter(), own, shared };
}

/** Returns a ticket with all keys that a plan may reserve in. With it another process can release the reservation. */
export function createTicket({ id, amount, own, shared }: Plan): Ticket {
  return { id, amount, keys: [...(own ? [own] : []), ...shared.flat()].map(({ key }) => key) };
}

/** Describes a refused reservation for the client; returns undefined if the amount is reserved. */
export function readRefusal(
  { limits }: Target,
  { refused, retryAfterMs }: Pick<Reserving, "refused" | "retryAfterMs">,
): Exhausted | undefined {
  if (refused === undefined) return undefined;
  const name = limits[refused]?.budget ?? "";
  return { retryAfterMs, budget: name, isShared: !isOwn({ name }) };
}

/**
 * Reserves in one key of each list, or in none. A transaction can't span two keys, so after a refusal this function
 * releases the reservations in the other keys. If the process ends before the release, those reservations are spent
 * when their time ends. So the budget may count too much, but never too little.
 */
export async function reserveAll(
  host: BoundHost,
  plan: Plan,
  lists: readonly (readonly Target[])[],
): Promise<Ticket | Exhausted> {
  const { own: _, shared: __, ...input } = plan;
  const keys = new Set<string>();
  const ends = await Promise.allSettled(lists.map(reserveFirst));
  const failed = ends.find((end) => end.status === "rejected");
  const refusals = ends.flatMap((end) => (end.status === "fulfilled" && end.value) || []);
  // prefer the user's own limit: the user can read it at `GET /v1/budget`
  const refusal = refusals.find(({ isShared }) => !isShared) ?? refusals[0];
  const ticket = { id: plan.id, amount: plan.amount, keys: [...keys] };
  if (failed || refusal)
    await settleTicket(host, ticket, 0).catch((error) =>
      logError(
        `budget: a reservation of ${plan.amount} could not be given back; what is reserved of it is spent: ${String(error)}`,
      ),
    );
  if (failed) throw failed.reason;
  return refusal ?? ticket;

  /** Reserves in the first key that has enough left. Returns the last refusal if all keys refuse. */
  async function reserveFirst(targets: readonly Target[]): Promise<Exhausted | undefined> {
    let refusal: Exhausted | undefined;
    for (const target of targets) {
      // a failed operation may still have reserved the amount
      keys.add(target.key);
      const limits = target.limits.map(({ name, limit }) => ({ name, limit }));
      const reserving = await host.run(target.key, reserve, { ...input, limits });
      logOverdue(reserving.lost);
      refusal = readRefusal(target, reserving);
      if (!refusal) return undefined;
      keys.delete(target.key);
    }
    return refusal;
  }
}

/** Settles a reservation in each of its keys. It is safe to repeat. */
export async function settleTicket(host: BoundHost, { id, keys }: Ticket, spent: number): Promise<void> {
  const settleKey = (key: string) => host.run(key, settle, { id, spent });
  // one retry, because databases restart
  await Promise.all(keys.map((key) => settleKey(key).catch(() => settleKey(key))));
}

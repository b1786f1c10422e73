import type { BoundHost, Exhausted, JSONValue, Operation, Reading } from "@sluice/worker-proxy";
import { waitAtMost } from "@sluice/worker-proxy/plugin";
import { type BudgetReader, findLimitKeys, isOwn, type Rule, readLimit } from "./limits.js";
import { type KeyLimit, logLost, type Reserve, type Reserving, reserve, settle } from "./operations.js";

/** Options of all reservations of a budget. */
export interface ReserveOptions<Env> {
  readonly rules: readonly Rule<Env>[];
  readonly currency: string | undefined;
  readonly windowMs: number;
  readonly reservationTtlMs: number;
}

/** A reservation as it is stored elsewhere: an amount, in some keys of the host. */
export interface Ticket {
  readonly id: string;
  readonly amount: number;
  readonly keys: readonly string[];
}

/** A key, and the limits that a request has to fit into there. */
type Target = {
  readonly key: string;
  readonly limits: readonly (KeyLimit & { readonly budget: string })[];
};

/** What a request reserves, before anything is reserved. It is JSON. */
export type Plan = Omit<Reserve, "limits"> & {
  /** The limits of the user alone. */
  readonly own: Target | null;
  /** The limits that others spend from, too: each in one of some keys. */
  readonly shared: readonly (readonly Target[])[];
};

/** Longest time for one operation, in milliseconds. A host that is stuck must not hold a request for longer. */
const OPERATION_MS = 10_000;
/** Longest time between the end of a window and its sweep, in milliseconds. */
const JITTER_MS = 60 * 60 * 1000;
/** Largest number of keys of one limit that one request tries. */
const MAX_TRIES = 3;

/** Returns a random time until the sweep of a window. */
export function drawJitter(): number {
  return Math.floor(Math.random() * JITTER_MS);
}

/** Runs an operation. @throws {Error} after 10 s */
export async function run<Input extends JSONValue, Output>(
  host: BoundHost,
  key: string,
  operation: Operation<Input, Output> | Reading<Input, Output>,
  input: Input,
): Promise<Output> {
  const done = host.run(key, operation, input).then((output) => ({ output }));
  const ended = await waitAtMost(OPERATION_MS, done);
  if (!ended) throw new Error(`${operation.name} took longer than ${OPERATION_MS} ms`);
  return ended.output;
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

/** Returns a ticket with all keys in which a plan may reserve. With it another process can give all of it back. */
export function createTicket({ id, amount, own, shared }: Plan): Ticket {
  return { id, amount, keys: [...(own ? [own] : []), ...shared.flat()].map(({ key }) => key) };
}

/** Returns the end of a try to reserve in a key for its client; undefined if the amount is reserved. */
export function readRefusal(
  { limits }: Target,
  { refused, retryAfterMs }: Pick<Reserving, "refused" | "retryAfterMs">,
): Exhausted | undefined {
  if (refused === undefined) return undefined;
  const name = limits[refused]?.budget ?? "";
  return { retryAfterMs, budget: name, isShared: !isOwn({ name }) };
}

/**
 * Reserves in one key of each list, or in none. No transaction spans two keys: after a refusal, what other keys reserved is
 * given back. A process that ends in between leaves reservations, which are spent when their time is over: too much, never
 * too little.
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
  // users see their own limits at `GET /v1/budget`
  const refusal = refusals.find(({ isShared }) => !isShared) ?? refusals[0];
  const ticket = { id: plan.id, amount: plan.amount, keys: [...keys] };
  if (failed || refusal) await settleTicket(host, ticket, 0).catch(() => {});
  if (failed) throw failed.reason;
  return refusal ?? ticket;

  /** Reserves in the first of some keys that has enough left. Returns the refusal if none has. */
  async function reserveFirst(targets: readonly Target[]): Promise<Exhausted | undefined> {
    let refusal: Exhausted | undefined;
    for (const target of targets) {
      // a key that fails may have reserved before
      keys.add(target.key);
      const limits = target.limits.map(({ name, limit }) => ({ name, limit }));
      const reserving = await run(host, target.key, reserve, { ...input, limits });
      logLost(reserving.lost);
      refusal = readRefusal(target, reserving);
      if (!refusal) return undefined;
      keys.delete(target.key);
    }
    return refusal;
  }
}

/** Settles a reservation in each of its keys. It can be repeated. */
export async function settleTicket(host: BoundHost, { id, keys }: Ticket, spent: number): Promise<void> {
  const settleKey = (key: string) => run(host, key, settle, { id, spent });
  // a second try, because databases restart
  await Promise.all(keys.map((key) => settleKey(key).catch(() => settleKey(key))));
}

import type { BoundHost, Exhausted, JSONValue, Operation, Payable, Reading } from "@sluice/worker-proxy";
import { waitAtMost } from "@sluice/worker-proxy/plugin";
import { type BudgetReader, findLimitKeys, isOwn, type Rule, readLimit } from "./limits.js";
import { type KeyLimit, logLost, reserve, settle } from "./operations.js";

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
interface Target {
  readonly key: string;
  readonly limits: readonly (KeyLimit & { readonly budget: string })[];
}

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

/**
 * Reserves an amount in each limit that applies to a request, or in none. The limits of the user share one transaction. No
 * transaction spans two keys: after a refusal, what other keys reserved is given back. A process that ends in between
 * leaves reservations, which are spent when their time is over: too much, never too little.
 */
export async function reserveAll<Env>(
  host: BoundHost,
  options: ReserveOptions<Env>,
  payable: Payable<Env>,
  amount: number,
): Promise<Ticket | Exhausted> {
  const { windowMs, reservationTtlMs: ttlMs } = options;
  const id = crypto.randomUUID();
  const choices = await findTargets(options, payable);
  const all = choices.flatMap((targets) => targets.map(({ key }) => key));
  // stored before anything is reserved: with it another process can give all of it back
  await payable.keepTicket?.(JSON.stringify({ id, amount, keys: all } satisfies Ticket), amount);
  const keys = new Set<string>();
  const ends = await Promise.allSettled(choices.map(reserveFirst));
  const failed = ends.find((end) => end.status === "rejected");
  const refusals = ends.flatMap((end) => (end.status === "fulfilled" && end.value) || []);
  // users see their own limits at `GET /v1/budget`
  const refusal = refusals.find(({ isShared }) => !isShared) ?? refusals[0];
  const ticket = { id, amount, keys: [...keys] };
  if (failed || refusal) await settleTicket(host, ticket, 0).catch(() => {});
  if (failed) throw failed.reason;
  return refusal ?? ticket;

  /** Reserves in the first of some keys that has enough left. Returns the refusal if none has. */
  async function reserveFirst(targets: readonly Target[]): Promise<Exhausted | undefined> {
    let refusal: Exhausted | undefined;
    for (const { key, limits } of targets) {
      // a key that fails may have reserved before
      keys.add(key);
      const input = { id, amount, windowMs, ttlMs, jitterMs: drawJitter() };
      const names = limits.map(({ name, limit }) => ({ name, limit }));
      const { refused, retryAfterMs, lost } = await run(host, key, reserve, { ...input, limits: names });
      logLost(lost);
      if (refused === undefined) return undefined;
      keys.delete(key);
      const name = limits[refused]?.budget ?? "";
      refusal = { retryAfterMs, budget: name, isShared: !isOwn({ name }) };
    }
    return refusal;
  }
}

/** Returns the keys that may be reserved in: one of each list. */
async function findTargets<Env>(
  { rules, currency }: ReserveOptions<Env>,
  reader: BudgetReader<Env>,
): Promise<readonly (readonly Target[])[]> {
  const own = new Map<string, Target>();
  const shared: (readonly Target[])[] = [];
  for (const rule of rules) {
    const limit = Math.floor(readLimit(rule, reader) / rule.shards);
    const limitKeys = await findLimitKeys(rule, reader, currency, MAX_TRIES);
    const targets = limitKeys.map(({ key, name }) => ({ key, limits: [{ name, limit, budget: rule.name }] }));
    if (!isOwn(rule)) shared.push(targets);
    else
      for (const { key, limits } of targets)
        own.set(key, { key, limits: [...(own.get(key)?.limits ?? []), ...limits] });
  }
  return [[...own.values()], ...shared];
}

/** Settles a reservation in each of its keys. It can be repeated. */
export async function settleTicket(host: BoundHost, { id, keys }: Ticket, spent: number): Promise<void> {
  const settleKey = (key: string) => run(host, key, settle, { id, spent });
  // a second try, because databases restart
  await Promise.all(keys.map((key) => settleKey(key).catch(() => settleKey(key))));
}

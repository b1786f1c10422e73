import type { User } from "@sluice/worker-proxy";
import { type AdminOperation, type BoundHost, ensure } from "@sluice/worker-proxy/plugin";
import { type BudgetUnit, checkAmount } from "./amounts.js";
import { type BudgetReader, findLimitKeys, isOwn, type Rule, readLimit } from "./limits.js";
import { calculateRemaining, logOverdue, raise, read, reset } from "./operations.js";
import { drawJitter, type ReserveOptions } from "./reservations.js";
import type { Sums } from "./tables.js";

/** The current state of one limit of a user, as `GET /v1/budget` reports it. Amounts are in its `unit`. */
export interface BudgetState extends BudgetUnit {
  /** Name of the limit. */
  readonly by: string;
  /** The maximum amount for this window, including raises. */
  readonly limit: number;
  /** The amount of all settled requests in this window. */
  readonly spent: number;
  /** The amount that is reserved for requests that are not settled yet. */
  readonly reserved: number;
  /** The amount that the next request can reserve, 0 or more. */
  readonly remaining: number;
  /** End of the window, in Unix milliseconds. */
  readonly resetsAt: number;
}

/** Reads and changes the limits of a budget. */
export type LimitAccess<Env> = ReturnType<typeof openLimits<Env>>;

/** Creates the functions that read and change the limits of a budget. */
export function openLimits<Env>(
  getHost: (env: Env) => BoundHost,
  { rules, currency, windowMs }: ReserveOptions<Env>,
  unit: BudgetUnit,
) {
  return { readOwn, read: readState, raise: raiseLimit, reset: resetLimit };

  /** Reads the limits `user` and `session`. A shared limit would reveal the spending of other users. */
  async function readOwn(reader: BudgetReader<Env>): Promise<readonly BudgetState[]> {
    return Promise.all(rules.filter(isOwn).map(({ name }) => readState(name, reader)));
  }

  function readState(limit: string, reader: BudgetReader<Env>): Promise<BudgetState> {
    return runOnEach(limit, reader, async (host, key, name) => {
      // the operation has also spent overdue reservations, whose process was lost
      const { lost, ...sums } = await host.run(key, read, { name, windowMs });
      logOverdue(lost);
      return sums;
    });
  }

  async function raiseLimit(limit: string, reader: BudgetReader<Env>, amount: number): Promise<BudgetState> {
    const whole = checkAmount(amount, "amount");
    return await runOnEach(limit, reader, (host, key, name, { shards }) => {
      const input = { id: crypto.randomUUID(), name, amount: Math.ceil(whole / shards) };
      return host.run(key, raise, { ...input, windowMs, jitterMs: drawJitter() });
    });
  }

  function resetLimit(limit: string, reader: BudgetReader<Env>): Promise<BudgetState> {
    return runOnEach(limit, reader, (host, key, name) => host.run(key, reset, { name, windowMs }));
  }

  /** Runs an operation on each key of a limit, and adds up the sums of the keys. */
  async function runOnEach(
    by: string,
    reader: BudgetReader<Env>,
    work: (host: BoundHost, key: string, name: string, rule: Rule<Env>) => Promise<Sums>,
  ): Promise<BudgetState> {
    const rule = rules.find(({ name }) => name === by);
    ensure(rule, `limits: no limit has the name ${by}`);
    const limitKeys = await findLimitKeys(rule, reader, currency);
    ensure(limitKeys.length > 0, `limits.${by}: \`by\` returns no name for this user`);
    const host = getHost(reader.env);
    const all = await Promise.all(limitKeys.map(({ key, name }) => work(host, key, name, rule)));
    const add = (field: "spent" | "reserved" | "raised") => all.reduce((sum, one) => sum + one[field], 0);
    const [spent, reserved, raised] = [add("spent"), add("reserved"), add("raised")];
    const resetsAt = Math.max(...all.map((one) => one.resetsAt));
    const limit = readLimit(rule, reader);
    const remaining = Math.max(0, calculateRemaining(limit, { spent, reserved, raised }));
    return { by, ...unit, limit: limit + raised, spent, reserved, remaining, resetsAt };
  }
}

/** Creates the admin operations on one limit. Each returns the state of the limit. */
export function createOperations<Env>(access: LimitAccess<Env>): readonly AdminOperation<Env>[] {
  const fields = ["by", "user", "session", "address"];
  return [
    { name: "budgets/read", fields, run: async (env, body) => access.read(...readTarget(env, body)) },
    {
      name: "budgets/raise",
      fields: [...fields, "amount"],
      run: async (env, body) => access.raise(...readTarget(env, body), body["amount"] as number),
    },
    { name: "budgets/reset", fields, run: async (env, body) => access.reset(...readTarget(env, body)) },
  ];
}

/** Reads the limit that an operator names, and the user, session or address for which it is read. */
function readTarget<Env>(
  env: Env,
  { by, user, session, address }: Readonly<Record<string, unknown>>,
): [string, BudgetReader<Env>] {
  const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
  ensure(isText(by), "by: give the name of a limit, such as user");
  const needed =
    by === "all" ? {} : by === "address" ? { address } : { user, ...(by === "session" && { session }) };
  for (const [name, value] of Object.entries(needed)) ensure(isText(value), `${name}: give a text`);
  const known: Partial<User> = { ...(isText(session) && { session }), ...(isText(address) && { address }) };
  return [by, { env, user: { id: isText(user) ? user : "", ...known } }];
}

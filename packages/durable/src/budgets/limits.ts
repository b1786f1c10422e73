import type { User } from "@sluice/worker-proxy";
import { ensure, hashText } from "@sluice/worker-proxy/plugin";
import { createUserKey } from "../host/user-key.js";
import { checkAmount } from "./amounts.js";

/** The user whose budgets are read, and the environment of the request. */
export interface BudgetReader<Env = unknown> {
  readonly env: Env;
  readonly user: User;
}

/** The maximum amount for one window, or a function that returns it. */
export type BudgetLimit<Env = unknown> = number | ((reader: BudgetReader<Env>) => number);

/** A limit with settings. */
export interface BudgetRule<Env = unknown> {
  /** The maximum amount for one window. */
  readonly limit: BudgetLimit<Env>;
  /**
   * Returns the name under which a request counts (e.g. the id of a team), or undefined if the limit does not apply to
   * the request. It is required for a limit with a custom name, and not allowed for `user`, `session`, `address` and
   * `all`.
   */
  readonly by?: ((reader: BudgetReader<Env>) => string | undefined) | undefined;
  /**
   * Number of keys that share the limit in equal parts. One key counts some hundreds of requests per second.
   *
   * A request counts in one random key. If the key has too little left, the request tries up to two other keys. The
   * limit is never exceeded, but the first refusal can come while other keys have room for a few requests. The maximum
   * cost of one request must fit into one part. `user` and `session` use only the user's key.
   *
   * @default 1
   */
  readonly shards?: number | undefined;
}

/** The limits of a budget, by name: `user`, `session`, `address`, `all`, or a custom name. */
export type BudgetLimits<Env = unknown> = Readonly<
  Partial<Record<"user" | "session" | "address" | "all" | (string & {}), BudgetLimit<Env> | BudgetRule<Env>>>
>;

/** A limit with its defaults. */
export interface Rule<Env> {
  readonly name: string;
  readonly limit: BudgetLimit<Env>;
  readonly by: (reader: BudgetReader<Env>) => string | undefined;
  readonly shards: number;
}

/** Returns true for a limit of one user. All other limits are shared. */
export function isOwn({ name }: { readonly name: string }): boolean {
  return name === "user" || name === "session";
}

const scopes: Readonly<Record<string, (user: User) => string>> = {
  user: ({ id }) => id,
  session: ({ session = "" }) => session,
  address: ({ address = "" }) => toNetwork(address),
  all: () => "",
};

/** @throws {TypeError} for an invalid limit, and for an empty object */
export function checkLimits<Env>(limits: BudgetLimits<Env>): readonly Rule<Env>[] {
  const names = Object.keys(scopes).join(", ");
  const rules = Object.entries(limits ?? {}).map(([name, given]) => {
    const rule = typeof given === "object" ? given : { limit: given };
    const { limit, by, shards = 1, ...rest } = rule as BudgetRule<Env>;
    const [other] = Object.keys(rest);
    ensure(other === undefined, `limits.${name}.${other}: is not an option; give limit, by or shards`);
    const scope = Object.hasOwn(scopes, name) ? scopes[name] : undefined;
    ensure(!scope || !by, `limits.${name}: its scope is fixed; give \`by\` to a limit with another name`);
    ensure(
      scope || typeof by === "function",
      `limits.${name}: give one of ${names}, or \`by\`, which names its requests`,
    );
    const areShards = Number.isSafeInteger(shards) && shards >= 1;
    ensure(areShards, `limits.${name}.shards: give a whole number from 1 up`);
    const isSpread = shards > 1 && isOwn({ name });
    ensure(!isSpread, `limits.${name}.shards: the rows of one user have one key; spread a shared limit`);
    if (typeof limit !== "function") checkAmount(limit, `limits.${name}`);
    return { name, limit, shards, by: by ?? (({ user }: BudgetReader<Env>) => scope?.(user)) };
  });
  ensure(rules.length > 0, `limits: give some of ${names}`);
  return rules;
}

/** Returns the maximum amount of a limit for one window, summed over its keys. */
export function readLimit<Env>({ name, limit }: Rule<Env>, reader: BudgetReader<Env>): number {
  return checkAmount(typeof limit === "function" ? limit(reader) : limit, `limits.${name}`);
}

/** The location of a limit's rows: a key of the host, and a name within the key. */
export interface LimitKey {
  readonly key: string;
  readonly name: string;
}

/**
 * Returns the keys that can count a request, starting with a random key. The list is empty if the limit does not
 * apply to the request.
 *
 * @param currency prefix of the row names, so that money is never added to tokens or to another currency
 * @param max maximum number of keys
 */
export async function findLimitKeys<Env>(
  rule: Rule<Env>,
  reader: BudgetReader<Env>,
  currency: string | undefined,
  max = rule.shards,
): Promise<readonly LimitKey[]> {
  const scope = rule.by(reader);
  if (scope === undefined) return [];
  const unit = currency === undefined ? "" : `${currency} `;
  if (isOwn(rule)) {
    // a session belongs to its user: sessions of two users may have the same name
    const name = rule.name === "session" ? `session ${await hashText(scope)}` : rule.name;
    return [{ key: await createUserKey(reader.user.id), name: unit + name }];
  }
  const hash = await hashText(`${rule.name}\n${scope}`);
  const first = Math.floor(Math.random() * rule.shards);
  return Array.from({ length: Math.min(max, rule.shards) }, (_, nth) => ({
    key: `budget:${hash}:${(first + nth) % rule.shards}`,
    name: unit + rule.name,
  }));
}

/** Returns the /64 network of an IPv6 address, because one customer gets a whole /64. IPv4 stays unchanged. */
function toNetwork(address: string): string {
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address);
  if (mapped || !address.includes(":")) return mapped?.[1] ?? address;
  const [before = [], after = []] = address
    .toLowerCase()
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":");
}

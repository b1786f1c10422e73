import type { BoundHost, UserData } from "@sluice/worker-proxy/plugin";
import { createUserKey } from "../host/user-key.js";
import type { LimitAccess } from "./limit-access.js";
import { type BudgetReader, findLimitKeys, type Rule } from "./limits.js";
import { erase, list } from "./operations.js";
import type { ReserveOptions } from "./reservations.js";
import type { NamedSums } from "./tables.js";

/** Number of sessions of one user after which an export stops reading pages. */
const MAX_SESSIONS = 1000;

/**
 * Creates the functions that export and erase the budget data of one user: the limits `user` and `session`, and custom
 * limits whose `by` returns the id of the user. Shared limits stay, because other users spend from them.
 */
export function createUserData<Env>(
  getHost: (env: Env) => BoundHost,
  { rules, currency }: ReserveOptions<Env>,
  access: LimitAccess<Env>,
): UserData<Env> {
  return {
    name: "budgets",
    async eraseUser(env, id) {
      const reader = { env, user: { id } };
      const limitKeys = await Promise.all(
        findOwn(reader).map((rule) => findLimitKeys(rule, reader, currency)),
      );
      const keys = new Set([await createUserKey(id), ...limitKeys.flat().map(({ key }) => key)]);
      for (const key of keys) while (await getHost(env).run(key, erase, null));
    },
    async exportUser(env, id) {
      const reader = { env, user: { id } };
      const states = findOwn(reader).map(({ name }) => access.read(name, reader));
      return [...(await Promise.all(states)), ...(await listSessions(getHost(env), id))];
    },
  };

  /** Returns the limits that count only this user, except `session`. */
  function findOwn(reader: BudgetReader<Env>): readonly Rule<Env>[] {
    return rules.filter(({ name, by }) => {
      if (name === "session") return false;
      try {
        return by(reader) === reader.user.id;
      } catch {
        return false; // `by` needs more of a user than the id
      }
    });
  }
}

/** Lists the sums of a user's sessions: about {@link MAX_SESSIONS} entries at most, of 100 bytes each. */
async function listSessions(host: BoundHost, id: string): Promise<readonly object[]> {
  const key = await createUserKey(id);
  const sessions: object[] = [];
  let page: readonly NamedSums[] = [];
  do {
    page = await host.run(key, list, { after: page.at(-1)?.name ?? "" });
    for (const { name, raised: _, ...sums } of page)
      if (/(?:^| )session [\da-f]{64}$/.test(name)) sessions.push({ by: "session", ...sums });
  } while (page.length > 0 && sessions.length < MAX_SESSIONS);
  return sessions;
}

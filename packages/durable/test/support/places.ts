import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { userIndexIn, withUserIndex } from "../../src/objects/user-index.js";
import { countedState, type Rows } from "./rows.js";

/** Rows for the place of one more answer of a user. */
export async function placeOf(user: string): Promise<Rows> {
  const object = env.BUDGET.get(env.BUDGET.idFromName(`places of ${user}`));
  return await runInDurableObject(object, async (_, state) => {
    const counted = countedState(state);
    const handlers = withUserIndex(counted.state, () => ({
      fetch: async () => new Response(),
      alarm: async () => {},
    }));
    const namespace = { idFromName: (name: string) => name, get: () => handlers };
    const index = userIndexIn(namespace, user);
    const one = async (id: string) => {
      await index.claim({ id, mostOpen: 16, endsAt: Date.now() + 1_000_000 });
      await index.end({ id, keptUntil: Date.now() + 600_000, mostKept: 50 });
    };
    await one("before");
    const before = { ...counted.rows };
    await one("now");
    const { read, written } = counted.rows;
    return { read: read - before.read, written: written - before.written };
  });
}

import type { AdminOperation, UserData } from "@sluice/worker-proxy";
import { askLetters } from "../notices/dead-letter-object.js";
import type { ObjectNamespace } from "../objects/object.js";
import { cursorIn, textIn } from "../objects/operator-body.js";
import { idsIn } from "../objects/user-index.js";
import { EXPORT, openUserObjects } from "../objects/user-objects.js";

/** Address at which a watch polls again, and returns what it keeps then. */
export const POLL = "https://poll.invalid/";

/** Access to the watches of a user, which the index of the user lists, and to the dead letters. */
export function watchData<Env>(bound: (env: Env) => Promise<ObjectNamespace>): UserData<Env> {
  return {
    name: "watches",
    async eraseUser(env, userId) {
      const namespace = await bound(env);
      await (await openUserObjects(namespace, userId)).erase();
      // last: a watch that is gone adds none
      await askLetters(namespace, { do: "removeUser", user: userId });
    },
    async exportUser(env, userId) {
      const { index, ask } = await openUserObjects(await bound(env), userId);
      const all: unknown[] = [];
      for await (const id of idsIn(index)) all.push(await (await ask(id, EXPORT)).json());
      return all.filter((one) => one !== null);
    },
  };
}

/** An operator's operations on the watches of a user. */
export function watchOperations<Env>(
  bound: (env: Env) => Promise<ObjectNamespace>,
): readonly AdminOperation<Env>[] {
  return [
    {
      name: "watches/list",
      async run(env, asked) {
        const { page, ask } = await openUserObjects(await bound(env), textIn(asked, "user"));
        const { ids, cursor } = await page(cursorIn(asked));
        const all = await Promise.all(ids.map(async (id) => (await ask(id, EXPORT)).json()));
        return { watches: all.filter((one) => one !== null).map(withoutAnswer), cursor };
      },
    },
    {
      name: "watches/poll",
      async run(env, asked) {
        const { ask } = await openUserObjects(await bound(env), textIn(asked, "user"));
        return { watch: await (await ask(textIn(asked, "id"), POLL)).json() };
      },
    },
  ];
}

/** Leaves out the gateway's answer, which has the links of the film. */
function withoutAnswer(watch: unknown): object {
  const { task: _, ...facts } = watch as { readonly task: unknown };
  return facts;
}

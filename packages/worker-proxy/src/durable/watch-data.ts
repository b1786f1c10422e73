import type { UserData } from "../admitted.js";
import { askLetters } from "./dead-letter-object.js";
import { hashOf, type ObjectNamespace, objectNamed } from "./platform.js";
import { userIndexIn } from "./user-index.js";

/** Addresses at which a watch returns all that it keeps, and deletes it. */
export const EXPORT = "https://export.invalid/";
export const ERASE = "https://erase.invalid/";

/** Access to the watches of a user, which the index of the user lists, and to the dead letters. */
export function watchData<Env>(bound: (env: Env) => Promise<ObjectNamespace>): UserData<Env> {
  return {
    name: "watches",
    async eraseUser(env, userId) {
      const namespace = await bound(env);
      const { index, ask } = await openWatches(namespace, userId);
      // again from the start: what begins meanwhile is found, too
      for (let ids = await index.list(); ids.length > 0; ids = await index.list()) {
        for (const id of ids) await ask(id, ERASE);
        await index.forget(ids);
      }
      // last: a watch that is gone adds none
      await askLetters(namespace, { do: "removeUser", user: userId });
    },
    async exportUser(env, userId) {
      const { index, ask } = await openWatches(await bound(env), userId);
      const all: unknown[] = [];
      for (let ids = await index.list(); ids.length > 0; ids = await index.list(ids.at(-1)))
        for (const id of ids) all.push(await (await ask(id, EXPORT)).json());
      return all.filter((one) => one !== null);
    },
  };
}

async function openWatches(namespace: ObjectNamespace, userId: string) {
  const user = await hashOf(userId);
  return {
    index: userIndexIn(namespace, user),
    async ask(id: string, address: string): Promise<Response> {
      const answer = await objectNamed(namespace, `${user}:${id}`).fetch(
        new Request(address, { method: "POST" }),
      );
      if (!answer.ok) throw new Error(`the watch of task ${id} answered with ${answer.status}`);
      return answer;
    },
  };
}

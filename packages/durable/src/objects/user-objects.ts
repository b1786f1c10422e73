import { hashOf } from "@sluice/worker-proxy/internal";
import { type ObjectNamespace, objectNamed } from "./object.js";
import { eraseIn, type UserIndex, userIndexIn } from "./user-index.js";

/** Addresses at which an object of a user returns all that it keeps, and deletes it. */
export const EXPORT = "https://export.invalid/";
export const ERASE = "https://erase.invalid/";

/** Part of a list, in the order of ids. */
interface IdPage {
  readonly ids: readonly string[];
  /** Gives the next part, which may be empty; absent after the last one. */
  readonly cursor?: string;
}

/** All objects of one user in a namespace, which the index of the user lists. */
export interface UserObjects {
  readonly index: UserIndex;
  /** Sends a request to one of them. @throws {Error} for an answer that is no success */
  ask(id: string, address: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Lists up to 100 ids, those behind a cursor. */
  page(cursor?: string): Promise<IdPage>;
  /** Has each object delete what it keeps. */
  erase(): Promise<void>;
}

/** Opens the objects of a user. */
export async function openUserObjects(namespace: ObjectNamespace, userId: string): Promise<UserObjects> {
  const user = await hashOf(userId);
  const index = userIndexIn(namespace, user);
  return { index, ask, page, erase };

  async function ask(id: string, address: string, headers = {}): Promise<Response> {
    const object = objectNamed(namespace, `${user}:${id}`);
    const answer = await object.fetch(new Request(address, { method: "POST", headers }));
    if (!answer.ok) throw new Error(`the object ${id} of a user answered with ${answer.status}`);
    return answer;
  }

  async function page(cursor?: string): Promise<IdPage> {
    const ids = await index.list(cursor);
    const last = ids.at(-1);
    return { ids, ...(last !== undefined && { cursor: last }) };
  }

  async function erase(): Promise<void> {
    await eraseIn(index, (id) => ask(id, ERASE));
  }
}

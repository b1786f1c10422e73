import { type ObjectNamespace, type ObjectStorage, objectNamed } from "../../objects/object.js";
import type { Owner } from "../record-tables.js";

/*
 * A door leads from the id under which members have a conversation to its owner. It is an object of its own, so that no id
 * and no link names the owner. It opens nothing: the conversation itself knows its members.
 */

/** Start of the addresses of requests to a door. */
const DOOR = "https://doors.invalid/";
/** Most doors that a process remembers. */
const REMEMBERED = 1_000;
/** The form of what is stored. */
const VERSION = 1;

/** True for a request to a door. */
export function isToDoor({ url }: Request): boolean {
  return url === DOOR;
}

/** Answers a request to a door: `PUT` opens it, `GET` looks behind it, and `DELETE` removes it. */
export async function answerAtDoor(storage: ObjectStorage, request: Request): Promise<Response> {
  if (request.method === "PUT") await storage.put("door", { version: VERSION, owner: await request.json() });
  if (request.method === "DELETE") await storage.deleteAll();
  if (request.method !== "GET") return new Response(null, { status: 204 });
  const kept = await storage.get<{ readonly owner: Owner }>("door");
  return Response.json({ owner: kept?.owner });
}

/** Opens a door, or removes it. Both can be repeated. @throws {Error} where it fails */
export async function setDoor(namespace: ObjectNamespace, share: string, owner?: Owner): Promise<void> {
  const init = owner ? { method: "PUT", body: JSON.stringify(owner) } : { method: "DELETE" };
  const answer = await objectNamed(namespace, share).fetch(new Request(DOOR, init));
  if (!answer.ok) throw new Error(`the door of a conversation answered with ${answer.status}`);
}

/** Makes the look behind doors. A door always leads to the same conversation, so that a process remembers the last ones. */
export function createDoors() {
  const known = new Map<string, Owner>();
  return async (namespace: ObjectNamespace, share: string): Promise<Owner | undefined> => {
    const owner = known.get(share) ?? (await look(namespace, share));
    known.delete(share);
    if (owner) known.set(share, owner);
    for (const oldest of known.keys()) {
      if (known.size <= REMEMBERED) break;
      known.delete(oldest);
    }
    return owner;
  };
}

async function look(namespace: ObjectNamespace, share: string): Promise<Owner | undefined> {
  const answer = await objectNamed(namespace, share).fetch(new Request(DOOR));
  if (!answer.ok) throw new Error(`the door of a conversation answered with ${answer.status}`);
  return ((await answer.json()) as { owner?: Owner }).owner;
}

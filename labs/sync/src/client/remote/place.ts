import { addUserPrefix } from "@sluice/stores/extend";
import { formatUserPrefix, type Scoped } from "../base.js";

/** A collection that lives on the server, too. */
export interface Place {
  /** Name of the collection in the local storage, with the user. */
  readonly name: string;
  /** Name of the collection without the user: `chat/trip`. */
  readonly collection: string;
  /** Id of the conversation on the server. */
  readonly id: string;
}

/** Id of the object that has the list of all conversations. Ids of an app never begin with `~`. */
const INDEX = "~index";
/** Collection of the list of conversations. */
export const CONVERSATIONS = "conversations";
/** Collection of what has to be sent. */
const OUTBOX = "remote/outbox";

/** Finds the place of a collection by its name in the local storage; undefined where it lives in this browser alone. */
export function placeOf(client: Scoped, name: string): Place | undefined {
  const { user: scope } = client;
  const scopePrefix = scope === undefined ? "" : `${formatUserPrefix(scope)}/`;
  const collection = name.startsWith(scopePrefix) ? name.slice(scopePrefix.length) : "";
  const id = collection === CONVERSATIONS ? INDEX : conversationIn(collection);
  return id === undefined ? undefined : { name: scopePrefix + collection, collection, id };
}

/** Returns the place of a conversation's messages; undefined for an id that a server does not take. */
export function placeOfChat(client: Scoped, id: string): Place | undefined {
  return placeOf(client, addUserPrefix(client, `chat/${id}`));
}

/** True for the id of a conversation that another user shares. */
export function isShared(id: string): boolean {
  return /^~[\w-]{22}$/.test(id);
}

function conversationIn(collection: string): string | undefined {
  const [, id] = /^chat\/([^\s\p{C}]{1,128})$/u.exec(collection) ?? [];
  return id?.startsWith("~") && !isShared(id) ? undefined : id;
}

/** Returns the collection with the state of a place's sync. */
export function stateNameOf(client: Scoped, { collection }: Place): string {
  return addUserPrefix(client, `remote/${collection}`);
}

/** Returns the collection of what this browser has not sent yet. */
export function outboxNameOf(client: Scoped): string {
  return addUserPrefix(client, OUTBOX);
}

import type { ObjectNamespace } from "@sluice/durable";
import { objectNamed } from "@sluice/durable/internal";
import type { Owner } from "./record-tables.js";

/** Id of the index of a user, which is a conversation like others on the wire. */
export const INDEX_ID = "~index";
/** Address at which an object deletes all that it stores. */
export const ERASE = "https://erase.invalid/";
/** Header of each request to an object: the JSON of an {@link Owner}, encoded as a part of an address. */
const OWNER = "x-sluice-conversation";
/** Start of the addresses of requests to an object. */
const HOST = "https://conversations.invalid";

/** A text that the index can find. */
export interface NotedText {
  readonly key: string;
  readonly text: string;
  /** Time of the message, in Unix milliseconds. */
  readonly at: number;
}

/** Requests to the index of a user. Each can be repeated. */
export type IndexRequest =
  /** Sets space aside for a conversation, which is listed from then on. */
  | { readonly do: "claim"; readonly id: string; readonly wanted: number }
  /** Reads the title of a conversation. */
  | { readonly do: "title"; readonly id: string }
  /** Takes texts over, and the size and age of the conversation. */
  | {
      readonly do: "note";
      readonly id: string;
      readonly texts: readonly NotedText[];
      readonly removed: readonly string[];
      readonly bytes: number;
      readonly touchedAt: number;
      /** The newest finished answer. */
      readonly news: News;
    }
  /** Forgets what is known of a conversation that is gone. */
  | { readonly do: "gone"; readonly id: string }
  /** Lists up to 100 conversations behind an id, those that are gone too. */
  | { readonly do: "list"; readonly after: string }
  /** Forgets conversations that were erased, unless they began anew since they were listed. */
  | { readonly do: "forget"; readonly listed: readonly Listed[] }
  | { readonly do: "erase" };

/** A new answer: its version, 0 for none, and the time of the write in Unix milliseconds. */
export interface News {
  readonly at: number;
  readonly time: number;
}

/** A conversation of a user, and how often it has asked for space. */
export interface Listed {
  readonly id: string;
  readonly claims: number;
}

/** Answer of the index; each field only where the request is about it. */
export interface IndexAnswer {
  /** Bytes that the conversation may use. */
  readonly granted?: number;
  /** True where there is no space for one more conversation. */
  readonly isFull?: boolean;
  readonly isGone?: boolean;
  /** False where the index knows no such conversation. */
  readonly isKnown?: boolean;
  readonly listed?: readonly Listed[];
  readonly title?: string;
}

/** Makes the request to an object: what is asked, and whose conversation it is. */
export function requestTo(
  owner: Owner,
  path: string,
  init: RequestInit & { signal?: AbortSignal } = {},
): Request {
  const headers = {
    ...(init.headers as Record<string, string>),
    [OWNER]: encodeURIComponent(JSON.stringify(owner)),
  };
  return new Request(`${HOST}${path}`, { ...init, headers });
}

/** Reads whose conversation a request is about. */
export function ownerOf(request: Request): Owner {
  return JSON.parse(decodeURIComponent(request.headers.get(OWNER) ?? "null")) as Owner;
}

/** Returns the object of a conversation, or the index of its user. */
export function objectOf(namespace: ObjectNamespace, { userName, conversation }: Owner) {
  // an app's id may hold anything, and comes last
  return objectNamed(namespace, conversation === INDEX_ID ? userName : `${userName}:${conversation}`);
}

/** Asks the index of a user. @throws {Error} where it fails */
export async function askIndex(
  namespace: ObjectNamespace,
  { user, userName }: Pick<Owner, "user" | "userName">,
  asked: IndexRequest,
): Promise<IndexAnswer> {
  const owner = { user, userName, conversation: INDEX_ID };
  const request = requestTo(owner, "/index", { method: "POST", body: JSON.stringify(asked) });
  const answer = await objectOf(namespace, owner).fetch(request);
  if (!answer.ok) throw new Error(`the index of a user answered with ${answer.status}`);
  return (await answer.json()) as IndexAnswer;
}

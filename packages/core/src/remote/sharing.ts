import type { Client } from "../client.js";
import { isRecord } from "../transport/error-response.js";
import type { ResponseError } from "../vocabulary/errors.js";
import { ask, misfitOf, recordsIn } from "./ask.js";
import { pathOf } from "./wire.js";

/** Rights of a member: `write` includes to read. */
export type ConversationAccess = "read" | "write";

/** A link by which other users become members of a conversation. */
export interface ConversationLink {
  /** Id of the link, to take it back. It opens nothing. */
  readonly id: string;
  /** Rights of those that come by it. */
  readonly access: ConversationAccess;
  /** Time at which it was made; Unix milliseconds. */
  readonly createdAt: number;
  /** Time from which on it does not work; Unix milliseconds, absent for a link without an end. */
  readonly endsAt?: number;
}

/** A link with its text, which nobody can read again. */
export interface NewConversationLink extends ConversationLink {
  /** Text of 44 letters that an address may have. Who has it may join: put it behind a `#`, which no server sees. */
  readonly token: string;
}

/** A user that may see a conversation. */
export interface ConversationMember {
  /** Id of the user in this conversation alone, as in the `author` of messages; `owner` for its owner. */
  readonly id: string;
  /** Name, where the proxy knows one. */
  readonly name?: string;
  /** Rights of the member. */
  readonly access: ConversationAccess | "owner";
  /** Time of the first join; Unix milliseconds, absent for the owner. */
  readonly joinedAt?: number;
}

/** All that may see a conversation. */
export interface ConversationMembers {
  /** Id of this user among the members. */
  readonly me: string;
  /** Rights of this user. */
  readonly access: ConversationAccess | "owner";
  /** The owner first, then the others in the order in which they came. */
  readonly members: readonly ConversationMember[];
  /** Links that work; only the owner gets them. */
  readonly links?: readonly ConversationLink[];
}

/** A conversation that this user has joined. */
export interface JoinedConversation {
  /** Id of the conversation for this user: for `useChatStream` and all else. */
  readonly id: string;
  /** Rights of this user; `owner` for a link of an own conversation. */
  readonly access: ConversationAccess | "owner";
}

/**
 * Makes a link to a conversation of this user. Needs a proxy whose `conversations()` has `sharing`. A repeat makes another
 * link.
 *
 * @param id the id of the conversation; one without messages is shared as well
 * @throws {APIError} with `too_many_links` or `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * const { token } = await createConversationLink(client, "trip", { access: "write", ms: 7 * 86_400_000 });
 * const address = `https://app.example.com/join#${token}`;
 * ```
 */
export async function createConversationLink(
  client: Client,
  id: string,
  options: {
    /** Rights of those that come by the link. */
    readonly access: ConversationAccess;
    /** Time for which it works, in milliseconds, from 1,000 up. @default until it is taken back */
    readonly ms?: number;
  },
): Promise<NewConversationLink> {
  const { access, ms } = options;
  const link = await ask(client, pathOf(id, "/links"), "POST", { access, ...(ms !== undefined && { ms }) });
  if (!isRecord(link) || typeof link["token"] !== "string") throw misfit("token");
  return { ...linkIn(link), token: link["token"] };
}

/**
 * Makes this user a member of another user's conversation. It is in the list of conversations from then on, and
 * `remoteStorage` works on it by its id. A repeat changes nothing.
 *
 * @param token the text of the link
 * @returns the id of the conversation for this user: for `useChatStream` and all else
 * @throws {APIError} with `link_unknown`, `too_many_members` or `space_exceeded`, and the errors of the connection
 * @example
 * ```ts
 * const { id } = await joinConversation(client, location.hash.slice(1));
 * ```
 */
export async function joinConversation(client: Client, token: string): Promise<JoinedConversation> {
  const joined = await ask(client, "/v1/conversations/~index/join", "POST", { token });
  if (!isRecord(joined) || typeof joined["id"] !== "string") throw misfit("id");
  return { id: joined["id"], access: accessIn(joined["access"]) };
}

/**
 * Lists the members of a conversation, and its links for the owner.
 *
 * @throws {APIError} with `conversation_gone` for a user that may not see it, and the errors of the connection
 * @example
 * ```ts
 * const { members, links = [] } = await listConversationMembers(client, "trip");
 * ```
 */
export async function listConversationMembers(client: Client, id: string): Promise<ConversationMembers> {
  const listed = await ask(client, pathOf(id, "/members"), "GET");
  if (!isRecord(listed) || typeof listed["me"] !== "string") throw misfit("me");
  const { me, access, members, links } = listed;
  return {
    me,
    access: accessIn(access),
    members: recordsIn(members).map(memberIn),
    ...(Array.isArray(links) && { links: recordsIn(links).map(linkIn) }),
  };
}

/**
 * Takes a link back: nobody joins by it any more. Members that came by it stay. A repeat changes nothing.
 *
 * @throws {APIError} with `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * const { links = [] } = await listConversationMembers(client, "trip");
 * for (const { id } of links) await removeConversationLink(client, "trip", id);
 * ```
 */
export async function removeConversationLink(client: Client, id: string, linkId: string): Promise<void> {
  await ask(client, pathOf(id, "/links"), "DELETE", { id: linkId });
}

/**
 * Removes a member at once, with its open streams, and takes all links back, so that it can't return by one. A member removes
 * itself by its own id, and no link. A repeat changes nothing.
 *
 * @throws {APIError} with `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * const { members } = await listConversationMembers(client, "trip");
 * const ben = members.find(({ name }) => name === "Ben");
 * if (ben) await removeConversationMember(client, "trip", ben.id);
 * ```
 */
export async function removeConversationMember(client: Client, id: string, memberId: string): Promise<void> {
  await ask(client, pathOf(id, "/members"), "DELETE", { id: memberId });
}

function linkIn({ id, access, createdAt, endsAt }: Readonly<Record<string, unknown>>): ConversationLink {
  return {
    id: String(id),
    access: access === "write" ? access : "read",
    createdAt: Number(createdAt),
    ...(typeof endsAt === "number" && { endsAt }),
  };
}

function memberIn({ id, name, access, joinedAt }: Readonly<Record<string, unknown>>): ConversationMember {
  return {
    id: String(id),
    ...(typeof name === "string" && { name }),
    access: accessIn(access),
    ...(typeof joinedAt === "number" && { joinedAt }),
  };
}

/** An access that is unknown may only read. */
function accessIn(access: unknown): ConversationAccess | "owner" {
  return access === "owner" || access === "write" ? access : "read";
}

function misfit(path: string): ResponseError {
  return misfitOf("a shared conversation", path);
}

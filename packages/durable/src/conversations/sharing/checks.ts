import type { Admitted, User } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import type { Sender } from "../record-tables.js";
import { conversationRefusal } from "../refusals.js";

/* What is sent about links and members, checked before it reaches an object. */

/** Bodies of the requests. */
export interface LinkAsked {
  readonly access: "read" | "write";
  /** Time for which the link works, in milliseconds. @default until it is taken back */
  readonly ms?: number | undefined;
}
export interface IdAsked {
  readonly id: string;
}
export interface JoinAsked {
  /** Hash of the link's secret. */
  readonly hash: string;
}

/** A link's text: the id of the conversation and its secret, 22 letters each. */
const TOKEN = /^([\w-]{22})([\w-]{22})$/;
/** Shortest and longest life of a link, in milliseconds. */
const LIFE_MS = { least: 1_000, most: 10 * 366 * 86_400_000 };
const NAME_LETTERS = 100;

export function linkIn({ body = {} }: Admitted<never>): LinkAsked {
  const { access, ms } = body;
  if (access !== "read" && access !== "write") throw wrong('access: send "read" or "write"');
  if (ms === undefined) return { access };
  if (!Number.isSafeInteger(ms) || Number(ms) < LIFE_MS.least || Number(ms) > LIFE_MS.most)
    throw wrong(`ms: send ${LIFE_MS.least} to ${LIFE_MS.most}, or leave it out`);
  return { access, ms: Number(ms) };
}

export function idIn({ body = {} }: Admitted<never>): IdAsked {
  const { id } = body;
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id))
    throw wrong("id: send the id of a link or a member");
  return { id };
}

/** Reads a link's text. @throws {Refusal} 404 for any other text */
export async function joinIn({
  body = {},
}: Admitted<never>): Promise<JoinAsked & { readonly share: string }> {
  const { token } = body;
  if (typeof token !== "string") throw wrong("token: send the text of a link");
  const [, share, secret = ""] = TOKEN.exec(token) ?? [];
  if (share === undefined) throw conversationRefusal("link_unknown");
  return { share: `~${share}`, hash: await hashOf(secret) };
}

/** Returns the sender of a request, with the name that others may see. */
export async function senderOf({ id, name }: User): Promise<Sender> {
  const shown = typeof name === "string" ? name.replace(/[\p{C}\s]+/gu, " ").trim() : "";
  return { user: id, userName: await hashOf(id), ...(shown && { name: shown.slice(0, NAME_LETTERS) }) };
}

function wrong(what: string) {
  return conversationRefusal("field_invalid", { what });
}

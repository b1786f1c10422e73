import type { User } from "../admitted.js";

/** Keeps users apart who share one key: an id leaves the proxy with the mark of the user who made it. */
export interface Tenancy {
  sign(kind: IdKind, id: string): Promise<string>;
  /** The gateway's own id; undefined where this user was not given it. */
  verify(kind: IdKind, signed: string): Promise<string | undefined>;
  /** What the gateway knows the user by: always the same, and no way back to the user. */
  pseudonym(): Promise<string>;
}

/** What an id names. The mark of one does not fit the other. */
export type IdKind = "task" | "asset" | "epsilon";

/** So long is a mark: 132 bits. */
const MARK = 22;
const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** An id of the gateway's, with or without a mark. */
export const SENT_ID = /^[A-Za-z0-9_-]{1,151}$/;

/** @param secrets the first one signs, each of them is known */
export function tenancyOf(secrets: readonly [string, ...string[]], { id: userId }: User): Tenancy {
  return {
    sign: async (kind, id) => `${id}_${await markOf(secrets[0], kind, id)}`,
    async verify(kind, signed) {
      const id = signed.slice(0, -MARK - 1);
      for (const secret of secrets) if (isSame(signed, `${id}_${await markOf(secret, kind, id)}`)) return id;
      return undefined;
    },
    pseudonym: () => markOf(secrets[0], "user", ""),
  };

  // the user's id may hold anything, and comes last: nothing else can be read into it
  async function markOf(secret: string, kind: string, id: string): Promise<string> {
    const hash = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
    const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(`${kind}:${id}:${userId}`));
    const letters = { "+": "-", "/": "_" } as const;
    return btoa(String.fromCharCode(...new Uint8Array(mark)))
      .replace(/[+/]/g, (letter) => letters[letter as "+" | "/"])
      .slice(0, MARK);
  }
}

/** The gateway's own id of what a user asks for; undefined where there is none, or it is not theirs. */
export async function ownId(
  tenancy: Tenancy | undefined,
  kind: IdKind,
  sentId: string,
): Promise<string | undefined> {
  const id = tenancy ? await tenancy.verify(kind, sentId) : sentId;
  return id !== undefined && ID.test(id) ? id : undefined;
}

const encoder = new TextEncoder();

/** Takes the same time wherever they differ. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

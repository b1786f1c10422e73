import type { User } from "../api/plugin.js";
import type { IdKind } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";

/** Keeps users apart who share one key: an id leaves the proxy with the mark of the user who made it. */
export type Tenancy = ReturnType<typeof tenancyOf>;

/** Length of a mark: 132 bits. */
export const MARK = 22;

/** @param secrets the first one signs, each of them is known */
export function tenancyOf(secrets: readonly string[], { id: userId }: User) {
  const [first = ""] = secrets;
  return {
    sign: async (kind: IdKind, id: string) => `${id}_${await markOf(first, kind, id)}`,
    /** Returns the gateway's own id; undefined where this user was not given it. */
    async verify(kind: IdKind, signed: string): Promise<string | undefined> {
      const id = signed.slice(0, -MARK - 1);
      for (const secret of secrets) if (isSame(signed, `${id}_${await markOf(secret, kind, id)}`)) return id;
      return undefined;
    },
    /** Returns the gateway's name for the user: always the same, and no way back to the user. */
    pseudonym: () => markOf(first, "user", ""),
  };

  // the user's id may hold anything, and comes last: nothing else can be read into it
  function markOf(secret: string, kind: string, id: string): Promise<string> {
    return signatureOf(secret, `${kind}:${id}:${userId}`);
  }
}

const encoder = new TextEncoder();

/** Signs a text with a secret, in {@link MARK} letters that an address may have. */
export async function signatureOf(secret: string, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
  const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return lettersOf(new Uint8Array(mark));
}

/** The first {@link MARK} letters of bytes in Base64 for addresses. */
export function lettersOf(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.slice(0, MARK).replaceAll("+", "-").replaceAll("/", "_");
}

/** Takes the same time wherever they differ. */
export function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

const ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Returns the gateway's own id for the id that a user sent.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function ownId(tenancy: Tenancy | undefined, kind: IdKind, sentId: string): Promise<string> {
  const id = tenancy ? await tenancy.verify(kind, sentId) : sentId;
  if (id !== undefined && ID.test(id)) return id;
  throw new Refusal(kind === "asset" ? "asset_not_found" : "task_not_found");
}

import type { User } from "../admitted.js";

/* Loaded where the proxy has a `secret`. */

/** Keeps users apart who share one key: an id leaves the proxy with the mark of the user who made it. */
export interface Tenancy {
  sign(kind: IdKind, id: string): Promise<string>;
  /** The gateway's own id; undefined where this user was not given it. */
  verify(kind: IdKind, signed: string): Promise<string | undefined>;
  /** The gateway's name for the user: always the same, and no way back to the user. */
  pseudonym(): Promise<string>;
}

/** The kind of thing that an id names. The mark of one does not fit the other. */
export type IdKind = "task" | "asset" | "epsilon";

/** Length of a mark: 132 bits. */
const MARK = 22;

/** @param secrets the first one signs, each of them is known; without any, ids stay the gateway's */
export function tenancyOf(secrets: readonly string[], { id: userId }: User): Tenancy | undefined {
  const [first] = secrets;
  if (first === undefined) return undefined;
  return {
    sign: async (kind, id) => `${id}_${await markOf(first, kind, id)}`,
    async verify(kind, signed) {
      const id = signed.slice(0, -MARK - 1);
      for (const secret of secrets) if (isSame(signed, `${id}_${await markOf(secret, kind, id)}`)) return id;
      return undefined;
    },
    pseudonym: () => markOf(first, "user", ""),
  };

  // the user's id may hold anything, and comes last: nothing else can be read into it
  async function markOf(secret: string, kind: string, id: string): Promise<string> {
    const hash = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
    const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(`${kind}:${id}:${userId}`));
    const base64 = btoa(String.fromCharCode(...new Uint8Array(mark)));
    return base64.slice(0, MARK).replaceAll("+", "-").replaceAll("/", "_");
  }
}

const encoder = new TextEncoder();

/** Takes the same time wherever they differ. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

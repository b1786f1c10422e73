import type { User } from "../admitted.js";
import { decided, misconfigured, Refusal } from "../refusal.js";

/** @throws {Refusal} 401 for nobody, 503 where `authenticate` fails */
export async function userOf<Env>(
  authenticate: ((request: Request, env: Env) => User | null | Promise<User | null>) | "public",
  request: Request,
  env: Env,
): Promise<User> {
  const address = request.headers.get("cf-connecting-ip");
  const from = address === null ? {} : { address };
  if (authenticate === "public") return { ...from, id: "public" };
  // two headers arrive joined, and which of them a check would read is anybody's guess
  const isJoined = request.headers.get("authorization")?.includes(",");
  const ask = () => (isJoined ? null : authenticate(request, env));
  const user = await decided("authenticate", "authentication_unavailable", ask);
  if (!user) throw new Refusal("unauthenticated");
  if (typeof user.id !== "string" || user.id === "")
    throw misconfigured("authenticate: must return { id }, a text, or null");
  return { ...from, ...user };
}

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
const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** An id of the gateway's, with or without a mark. */
export const SENT_ID = /^[A-Za-z0-9_-]{1,151}$/;

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

/**
 * The gateway's own id of what a user asks for.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function ownId(tenancy: Tenancy | undefined, kind: IdKind, sentId: string): Promise<string> {
  const id = tenancy ? await tenancy.verify(kind, sentId) : sentId;
  if (id !== undefined && ID.test(id)) return id;
  throw new Refusal(kind === "asset" ? "asset_not_found" : "task_not_found");
}

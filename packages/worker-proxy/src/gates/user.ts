import type { User } from "../admitted.js";
import { decided, misconfigured, Refusal } from "../refusals/refusal.js";

const reasons = new WeakMap<Request, string>();

/** Says for the operator alone why a request has no user. Its texts hold no value of a token. */
export function nobody(request: Request, reason: string): null {
  reasons.set(request, reason);
  return null;
}

/** Returns the reason that {@link nobody} was given. */
function whyNobody(request: Request): string | undefined {
  return reasons.get(request);
}

/**
 * Finds the user of a request. A client that names its user, by a hash, has to name this one: what it sends and stores would
 * be another user's.
 *
 * @throws {Refusal} 401 without a user, 409 for a page of another user, 503 where `authenticate` fails
 */
export async function userOf<Env>(
  authenticate: ((request: Request, env: Env) => User | null | Promise<User | null>) | "public",
  request: Request,
  env: Env,
): Promise<User> {
  const address = request.headers.get("cf-connecting-ip");
  const from = address === null ? {} : { address };
  if (authenticate === "public") return { ...from, id: "public" };
  // two headers arrive joined, and a check could read either of them
  const isJoined = request.headers.get("authorization")?.includes(",");
  const ask = () => (isJoined ? null : authenticate(request, env));
  const user = await decided("authenticate", "authentication_unavailable", ask);
  // the spec has a code for a key that is not valid
  const isKey = /^bearer\s+\S/i.test(request.headers.get("authorization") ?? "");
  const reason = isJoined ? "authorization: came twice" : whyNobody(request);
  if (!user) throw new Refusal(isKey ? "invalid_key" : "unauthenticated", { reason });
  if (typeof user.id !== "string" || user.id === "")
    throw misconfigured('authenticate: must return { id: "…" } or null');
  const named = request.headers.get("x-sluice-user");
  if (named !== null && named !== hashOf(user.id)) throw new Refusal("user_mismatch");
  return { ...from, ...user };
}

/**
 * Makes the hash by which a client names its user: four times FNV-1a, in 32 bits, as `idOf` of the core does. An import of
 * that would add 1.9 kB to what a Worker loads at once.
 */
function hashOf(id: string): string {
  const hashes = [0, 1, 2, 3].map((word) => {
    let hash = 0x811c9dc5;
    for (const unit of `${word} ${id}`.split("")) hash = Math.imul(hash ^ unit.charCodeAt(0), 0x01000193);
    return hash >>> 0;
  });
  return hashes.join("-");
}

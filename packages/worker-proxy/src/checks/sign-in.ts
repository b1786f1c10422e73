import type { Authenticate } from "../api/options.js";
import type { User } from "../api/plugin.js";
import { decide, Refusal, refuseSetup } from "../refusals/refusal.js";

const reasons = new WeakMap<Request, string>();

/** Notes for the operator alone why a request was refused. The text contains no value of a token. */
export function noteReason(request: Request, reason: string): null {
  reasons.set(request, reason);
  return null;
}

/**
 * Finds the user of a request.
 *
 * @throws {Refusal} 401 without a user, 409 for a page of another user, 503 where `authenticate` fails
 */
export async function findUser<Env>(
  authenticate: Authenticate<Env> | "public",
  request: Request,
  env: Env,
): Promise<User> {
  const { headers } = request;
  const address = headers.get("cf-connecting-ip") ?? undefined;
  if (authenticate === "public") return { address, id: "public" };
  const token = headers.get("authorization") ?? "";
  // two headers arrive joined, and a check could read either of them
  const isJoined = token.includes(",");
  const user = await decide("authenticate", "authentication_unavailable", () =>
    isJoined ? null : authenticate(request, env),
  );
  if (!user) {
    const reason = isJoined ? "authorization: came twice" : reasons.get(request);
    // the spec has a code for a key that is not valid
    throw new Refusal(/^bearer\s+\S/i.test(token) ? "invalid_key" : "unauthenticated", { reason });
  }
  if (typeof user.id !== "string" || user.id === "")
    throw refuseSetup('authenticate: must return { id: "…" } or null');
  const named = headers.get("x-sluice-user");
  if (named !== null && named !== hashUser(user.id)) throw new Refusal("user_mismatch");
  return { address, ...user };
}

/**
 * Makes the hash by which a page names its user: four times FNV-1a in 32 bits (wire, 3.24). The page of one user must not
 * send or store anything for the next user.
 */
function hashUser(id: string): string {
  const hashes = [0, 1, 2, 3].map((word) => {
    let hash = 0x811c9dc5;
    for (const unit of `${word} ${id}`.split("")) hash = Math.imul(hash ^ unit.charCodeAt(0), 0x01000193);
    return hash >>> 0;
  });
  return hashes.join("-");
}

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

/** @throws {Refusal} 401 without a user, 503 where `authenticate` fails */
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
  return { ...from, ...user };
}

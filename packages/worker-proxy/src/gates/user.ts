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

import type { User } from "../admitted.js";
import { misconfigured, Refusal, unavailable } from "../refusal.js";
import type { Settings } from "../settings.js";

/** @throws {Refusal} 401 for nobody, 503 where `authenticate` fails */
export async function userOf<Env>(
  { authenticate }: Settings<Env>,
  request: Request,
  env: Env,
): Promise<User> {
  const address = request.headers.get("cf-connecting-ip");
  const from = address === null ? {} : { address };
  if (authenticate === "public") return { ...from, id: "public" };
  let user: User | null = null;
  // two headers arrive joined, and which of them a check would read is anybody's guess
  if (!request.headers.get("authorization")?.includes(","))
    try {
      user = await authenticate(request, env);
    } catch (error) {
      const message = "who is asking can't be told now";
      throw unavailable("authentication_unavailable", message, "authenticate failed", error);
    }
  if (!user) throw new Refusal(401, "unauthenticated", "sign in: the proxy does not know who is asking");
  if (typeof user.id !== "string" || user.id === "")
    throw misconfigured("authenticate: must return { id }, a text, or null");
  return { ...from, ...user };
}

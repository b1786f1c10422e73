import type { User } from "../admitted.js";
import { decided, misconfigured, Refusal } from "../refusal.js";
import type { IdKind, Tenancy } from "./tenancy.js";

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

const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** An id of the gateway's, with or without a mark. */
export const SENT_ID = /^[A-Za-z0-9_-]{1,151}$/;

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

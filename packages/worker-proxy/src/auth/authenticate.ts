import type { User } from "../admitted.js";

/**
 * What `createProxy` takes as `authenticate`: who is asking, or null for nobody (401). It throws where that can't be
 * told (503).
 *
 * @example two ways to sign in
 * ```ts
 * const people = cloudflareAccess({ teamDomain: "acme.cloudflareaccess.com", audience: "4714c135" });
 * const servers = jwt({
 *   jwks: "https://sign-in.example.com/.well-known/jwks.json",
 *   issuer: "https://sign-in.example.com/",
 *   audience: "gateway-proxy",
 * });
 * const authenticate: Authenticate = async (request, env) =>
 *   (await people(request, env)) ?? (await servers(request, env));
 * ```
 */
export type Authenticate<Env = unknown> = (request: Request, env: Env) => Promise<User | null>;

/** The user of that id; nobody where it is none. */
export function userOf(id: unknown): User | null {
  return typeof id === "string" && id !== "" && id.length <= 255 ? { id } : null;
}

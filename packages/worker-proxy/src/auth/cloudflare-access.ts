import type { JWTPayload } from "jose";
import type { Authenticate } from "../options.js";
import type { Fetch } from "./ask-json.js";
import { checkText, checkTexts, claimsOf, userOf } from "./claims.js";
import { openKeySet } from "./key-set.js";

/** What {@link cloudflareAccess} takes. */
export interface CloudflareAccessOptions {
  /** The team's domain: `acme.cloudflareaccess.com`. */
  readonly teamDomain: string;
  /** The application's audience tag, from its page in the dashboard. */
  readonly audience: string | readonly string[];
  /** The client ids of the service tokens that may ask as well, `….access`. @default none: people alone */
  readonly serviceTokens?: readonly string[];
  /** Another way to the team's keys. @default the global `fetch` */
  readonly fetch?: Fetch;
}

/**
 * Knows users by the token that Cloudflare Access adds to each request as `cf-access-jwt-assertion`. It is checked here
 * as well, so that a way around Access (a `workers.dev` address, a second route) leads nowhere. The cookie of the same
 * content is not read: browsers send it for any page that asks.
 *
 * A person's id is the token's `sub`; that of a service token, which has none, is `service:` and its client id.
 *
 * @throws {TypeError} when an option is missing or can't work; the message names it
 * @example
 * ```ts
 * const authenticate = cloudflareAccess({
 *   teamDomain: "acme.cloudflareaccess.com",
 *   audience: "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2",
 * });
 * ```
 */
export function cloudflareAccess({
  teamDomain,
  audience,
  serviceTokens = [],
  fetch: ask = (request) => fetch(request),
}: CloudflareAccessOptions): Authenticate {
  const issuer = issuerOf(teamDomain);
  const expected = {
    issuer,
    audience: checkTexts("audience", audience, "the application's audience tag"),
    algorithms: ["RS256"],
  };
  for (const id of serviceTokens) checkText("serviceTokens", id, '"….access"');
  const keys = openKeySet(`${issuer}/cdn-cgi/access/certs`, ask);

  return async ({ headers }) => {
    const token = headers.get("cf-access-jwt-assertion");
    const claims = token && (await claimsOf(token, keys, expected));
    return claims ? userOf(idOf(claims, serviceTokens)) : null;
  };
}

function idOf({ sub, common_name: name }: JWTPayload, serviceTokens: readonly string[]): unknown {
  if (sub) return sub;
  const service = serviceTokens.find((id) => id === name);
  return service && `service:${service}`;
}

/** One label below Cloudflare's own domain: with anything else, keys would come from a stranger. */
function issuerOf(teamDomain: unknown): string {
  const [, domain] = /^(?:https:\/\/)?([a-z\d-]+\.cloudflareaccess\.com)\/?$/.exec(String(teamDomain)) ?? [];
  if (!domain) throw new TypeError('teamDomain: give the team\'s domain, "acme.cloudflareaccess.com"');
  return `https://${domain}`;
}

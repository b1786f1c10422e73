import type { JWTPayload, JWTVerifyGetKey } from "jose";
import type { Authenticate } from "../api/options.js";
import { noteReason } from "../checks/sign-in.js";
import { checkTexts, ensure, readOption } from "../refusals/read-option.js";
import type { Refusal } from "../refusals/refusal.js";
import {
  checkKeysURL,
  createUser,
  type Expected,
  type Fetch,
  openKeySet,
  readClaims,
  readSecret,
  refuseUnknown,
  type Secret,
} from "./claims.js";

interface SharedOptions {
  /** The issuer: the token's `iss`, compared as an exact text. */
  readonly issuer: string;
  /**
   * The accepted audiences: the token's `aud` must have one of them. `false` accepts only tokens without an `aud`, such as
   * Clerk's sessions, and needs `authorizedParties`.
   */
  readonly audience: string | readonly string[] | false;
  /**
   * The accepted parties: the token's `azp` must be one of them, a page's origin or a client's id. @default with an
   * `audience`, `azp` is not looked at
   */
  readonly authorizedParties?: string | readonly string[] | undefined;
  /**
   * The `alg`s that may have signed. With `jwks`, list only algorithms of public keys; with `secret`, only HS*:
   * a public key is thus never taken for a secret. @default RS256, PS256, ES256 and EdDSA; with `secret` HS256
   */
  readonly algorithms?: readonly string[];
  /**
   * Returns the user's id from the claims of a valid token. Anything but a text of 1 to 255 characters refuses the
   * request with 401. @default its `sub`
   */
  readonly userId?: (claims: Readonly<JWTPayload>) => unknown;
}

interface KeysOptions<Env> extends SharedOptions {
  /** The address of the issuer's public keys: https, or http on this machine. */
  readonly jwks: string | URL | ((env: Env) => string | URL);
  /** Replaces `fetch` for the keys: a service binding, a test. @default the global `fetch` */
  readonly fetch?: Fetch;
  readonly secret?: never;
}

interface SecretOptions<Env> extends SharedOptions {
  /** The shared secret, whose UTF-8 bytes are the key: at least 32 of them, as many as the hash has. */
  readonly secret: Secret<Env>;
  readonly jwks?: never;
}

/** Options of {@link jwt}: public keys (`jwks`) or a shared `secret`, never both. */
export type JWTOptions<Env = unknown> = KeysOptions<Env> | SecretOptions<Env>;

const publicKinds = ["RS256", "PS256", "ES256", "EdDSA"];
const otherPublicKinds = ["RS384", "RS512", "PS384", "PS512", "ES384", "ES512", "Ed25519"];
const secretKinds = ["HS256", "HS384", "HS512"];

/**
 * Authenticates users by the JWT in `Authorization: Bearer …`. Signature, `iss`, `aud`, `exp` and `nbf` are checked, with
 * 5 seconds for clocks that differ; a token without `exp` is refused.
 *
 * A bad token is refused with 401. While keys or the secret are unavailable, every request is refused with 503. Keys are
 * cached for 10 minutes; an unknown `kid` causes a new fetch at most every 30 seconds.
 *
 * @throws {TypeError} when an option is missing or can't work; the message names it
 * @example
 * ```ts
 * const authenticate = jwt({
 *   jwks: "https://sign-in.example.com/.well-known/jwks.json",
 *   issuer: "https://sign-in.example.com/",
 *   audience: "gateway-proxy",
 * });
 * ```
 * @example the sessions of Clerk, which have no audience
 * ```ts
 * const authenticate = jwt({
 *   jwks: "https://clerk.example.com/.well-known/jwks.json",
 *   issuer: "https://clerk.example.com",
 *   audience: false,
 *   authorizedParties: ["https://app.example.com"],
 * });
 * ```
 * @example a secret shared with your own server
 * ```ts
 * const authenticate = jwt({
 *   secret: (env: { JWT_SECRET: string }) => env.JWT_SECRET,
 *   issuer: "https://app.example.com",
 *   audience: "gateway-proxy",
 * });
 * ```
 */
export function jwt<Env = unknown>(options: JWTOptions<Env>): Authenticate<Env> {
  const expected = checkOptions(options);
  const { userId = ({ sub }) => sub } = options;
  ensure(typeof userId === "function", "userId: give a function, (claims) => claims.sub");
  const readKey =
    options.jwks === undefined ? createSecretKeyReader(options, expected) : createPublicKeyReader(options);
  return Object.assign(authenticate, { checks: [readKey] });

  async function authenticate(request: Request, env: Env) {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    if (token === undefined) return noteReason(request, "authorization: has no bearer token");
    const claims = await readClaims(token, await readKey(env), expected, (reason) =>
      noteReason(request, reason),
    );
    return (
      claims &&
      (createUser(userId(claims)) ?? noteReason(request, "userId: gives no text of 1 to 255 characters"))
    );
  }
}

function checkOptions(options: JWTOptions<never>): Expected {
  const { jwks, secret, issuer, audience, authorizedParties: parties, algorithms } = options;
  if ((jwks === undefined) === (secret === undefined))
    throw new TypeError("jwks, secret: give one of them, and not both");
  const [usual, possible] = secret
    ? [["HS256"], secretKinds]
    : [publicKinds, [...publicKinds, ...otherPublicKinds]];
  const chosen = readTexts("algorithms", algorithms ?? usual, JSON.stringify(usual));
  if (!chosen.every((algorithm) => possible.includes(algorithm)))
    throw new TypeError(
      `algorithms: with ${secret ? "a secret" : "jwks"}, give some of ${possible.join(", ")}`,
    );
  if (audience === false && parties === undefined)
    throw new TypeError(
      "authorizedParties: give the origins of your pages; without an audience, they say who the token is for",
    );
  ensure(typeof issuer === "string" && issuer !== "", 'issuer: give a text, "https://sign-in.example.com/"');
  return {
    issuer,
    audience: audience === false ? undefined : readTexts("audience", audience, '"gateway-proxy"'),
    parties:
      parties === undefined
        ? undefined
        : readTexts("authorizedParties", parties, '"https://app.example.com"'),
    algorithms: chosen,
  };
}

/**
 * Returns a text or a list of texts as a list.
 *
 * @throws {TypeError} for anything else, and for an empty list, which would refuse every token
 */
function readTexts(name: string, given: unknown, example: string): string[] {
  return [...checkTexts([given].flat(), Boolean, `${name}: give a text, ${example}`, 1)];
}

type KeyReader<Env> = (env: Env) => JWTVerifyGetKey | Promise<JWTVerifyGetKey>;

function createPublicKeyReader<Env>({
  jwks,
  fetch: fetchKeys = (request) => fetch(request),
}: KeysOptions<Env>): KeyReader<Env> {
  if (typeof jwks !== "function") {
    const find = openKeySet(checkKeysURL(jwks), fetchKeys);
    return () => find;
  }
  let keys: { readonly url: string; readonly find: JWTVerifyGetKey } | undefined;
  return async (env) => {
    const url = await readOption("jwks", jwks, env, checkKeysURL).catch(({ details, cause }: Refusal) => {
      throw refuseUnknown(details.problem, cause);
    });
    if (keys?.url !== url) keys = { url, find: openKeySet(url, fetchKeys) };
    return keys.find;
  };
}

function createSecretKeyReader<Env>(
  { secret }: SecretOptions<Env>,
  { algorithms }: Expected,
): KeyReader<Env> {
  ensure(typeof secret === "function", "secret: give a function, (env) => env.JWT_SECRET");
  const bits = algorithms.map((algorithm) => Number(algorithm.slice(2)));
  return async (env) => {
    const key = await readSecret(secret, env, Math.max(...bits) / 8);
    return async () => key;
  };
}

/** Options of {@link cloudflareAccess}. */
export interface CloudflareAccessOptions {
  /** The team's domain: `acme.cloudflareaccess.com`. */
  readonly teamDomain: string;
  /** The application's audience tag, from its page in the dashboard. */
  readonly audience: string | readonly string[];
  /** The client ids of the service tokens that are accepted too, `….access`. @default none: only people */
  readonly serviceTokens?: readonly string[];
  /** Replaces `fetch` for the team's keys: a service binding, a test. @default the global `fetch` */
  readonly fetch?: Fetch;
}

/**
 * Authenticates users by the token that Cloudflare Access adds to each request as `cf-access-jwt-assertion`. The token is
 * checked here again, so that a request that bypasses Access (by a `workers.dev` address or a second route) is refused.
 * The cookie of the same content is not read: browsers send it with the requests of any page.
 *
 * The user's id is the token's `sub`. A service token has none; its id is `service:` and its client id.
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
  fetch: fetchKeys = (request) => fetch(request),
}: CloudflareAccessOptions): Authenticate {
  const issuer = createIssuer(teamDomain);
  const expected = {
    issuer,
    audience: readTexts("audience", audience, "the application's audience tag"),
    parties: undefined,
    algorithms: ["RS256"],
  };
  checkTexts(serviceTokens, Boolean, 'serviceTokens: give client ids, ["….access"]');
  const keys = openKeySet(`${issuer}/cdn-cgi/access/certs`, fetchKeys);

  return async (request) => {
    const token = request.headers.get("cf-access-jwt-assertion");
    if (!token)
      return noteReason(request, "cf-access-jwt-assertion: is missing; the request bypassed Access");
    const claims = await readClaims(token, keys, expected, (reason) => noteReason(request, reason));
    return (
      claims &&
      (createUser(findUserId(claims, serviceTokens)) ??
        noteReason(request, "serviceTokens: does not have this one"))
    );
  };
}

function findUserId({ sub, common_name: name }: JWTPayload, serviceTokens: readonly string[]): unknown {
  if (sub) return sub;
  const service = serviceTokens.find((id) => id === name);
  return service && `service:${service}`;
}

/** Returns the issuer of a team: one label below Cloudflare's own domain. Keys of any other host are not the team's. */
function createIssuer(teamDomain: unknown): string {
  const [, domain] = /^(?:https:\/\/)?([a-z\d-]+\.cloudflareaccess\.com)\/?$/.exec(String(teamDomain)) ?? [];
  if (!domain) throw new TypeError('teamDomain: give the team\'s domain, "acme.cloudflareaccess.com"');
  return `https://${domain}`;
}

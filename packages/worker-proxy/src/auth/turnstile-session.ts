import { SignJWT } from "jose";
import { readBody } from "../gates/body.js";
import { checkOrigin, corsHeadersOf } from "../gates/origin.js";
import type { Authenticate } from "../options.js";
import { ensure } from "../read-option.js";
import { preflight, refuse } from "../refusals/answers.js";
import { misconfigured, Refusal, refusalIn } from "../refusals/refusal.js";
import { checkTexts, type Fetch, fetchJSON, type Secret, secretOf, unknowable } from "./claims.js";
import { bearer } from "./jwt.js";

/** Options of {@link turnstileSession}. */
export interface TurnstileSessionOptions<Env = unknown> {
  /** The widget's secret key, from a secret. */
  readonly secretKey: Secret<Env>;
  /** The key that signs sessions, from a secret: at least 32 bytes, `openssl rand -base64 32`. */
  readonly sessionSecret: Secret<Env>;
  /** The pages that may request a session, exactly as browsers name them: `https://app.example.com`. */
  readonly origins: readonly string[];
  /** The hosts of the pages that hold the widget. @default those of `origins` */
  readonly hostnames?: readonly string[];
  /** The widget's `action`. Sessions are bound to it: those of another action are not accepted. */
  readonly action: string;
  /** Lifetime of a session in seconds, up to a day. @default 3600 */
  readonly ttlSeconds?: number;
  /** Largest age of the check, in seconds. @default 300, the life of a Turnstile token */
  readonly maxAgeSeconds?: number;
  /** Replaces `fetch` for the calls to Turnstile: a test. @default the global `fetch` */
  readonly fetch?: Fetch;
}

/** The two sides of a session: the endpoint that issues it, and the check that accepts it. */
export interface TurnstileSession<Env = unknown> {
  /**
   * Answers `POST` of `{ "token": "…" }`, as JSON, with `{ "session": "…", "expiresAt": 1767225600000 }` (milliseconds
   * since 1970), and preflights. Anything else is refused in the gateway's error shape: 403 for a token that Turnstile
   * does not accept, 503 while Turnstile is unreachable. Mount it at a path of your own.
   */
  readonly exchange: (request: Request, env: Env) => Promise<Response>;
  /** For `createProxy`: accepts the session in `Authorization: Bearer …`. */
  readonly authenticate: Authenticate<Env>;
}

/** The issuer of sessions. It tells them from other tokens under the same secret. */
const ISSUER = "sluice:turnstile-session";

interface Settings<Env> extends Wanted, Required<TurnstileSessionOptions<Env>> {
  readonly advised: Set<string>;
}

/**
 * Signs anonymous visitors in: one Turnstile check is exchanged for a short session, which serves for many requests. Each
 * session has a new random user id, `anon-…`. The page keeps the session in memory and sends it as a bearer token; no
 * cookie is set, so that no other page can send it.
 *
 * @throws {TypeError} when an option is missing or can't work; the message names it
 * @example
 * ```ts
 * interface Env {
 *   GATEWAY_API_KEY: string;
 *   TURNSTILE_SECRET_KEY: string;
 *   SESSION_SECRET: string;
 * }
 * const origins = ["https://app.example.com"];
 * const visitors = turnstileSession<Env>({
 *   secretKey: (env) => env.TURNSTILE_SECRET_KEY,
 *   sessionSecret: (env) => env.SESSION_SECRET,
 *   origins,
 *   action: "chat",
 * });
 * const proxy = createProxy<Env>({
 *   baseURL: "https://gateway.example.com",
 *   apiKey: (env) => env.GATEWAY_API_KEY,
 *   authenticate: visitors.authenticate,
 *   origins,
 *   models: ["delta-5.3"],
 * });
 *
 * export default {
 *   fetch: (request: Request, env: Env, context: ProxyContext) =>
 *     new URL(request.url).pathname === "/session"
 *       ? visitors.exchange(request, env)
 *       : proxy.fetch(request, env, context),
 * };
 * ```
 */
export function turnstileSession<Env = unknown>(
  options: TurnstileSessionOptions<Env>,
): TurnstileSession<Env> {
  const settings = checkedOptions(options);
  const { sessionSecret, action } = settings;
  const known = bearer<Env>(
    { secret: sessionSecret, issuer: ISSUER, audience: action },
    "turnstileSession: sessionSecret",
  );
  const checks = [...(known.checks ?? []), (env: Env) => secretKeyOf(settings, env)];
  return {
    exchange: (request, env) => answer(settings, request, env),
    authenticate: Object.assign(known, { checks }),
  };
}

function checkedOptions<Env>(options: TurnstileSessionOptions<Env>): Settings<Env> {
  const { origins, action } = options;
  const { ttlSeconds = 3600, maxAgeSeconds = 300 } = options;
  ensure(
    typeof options.secretKey === "function",
    "secretKey: give a function, (env) => env.TURNSTILE_SECRET_KEY",
  );
  ensure(
    typeof options.sessionSecret === "function",
    "sessionSecret: give a function, (env) => env.SESSION_SECRET",
  );
  const example = '["https://app.example.com"], without a path or a wildcard';
  for (const origin of checkTexts("origins", origins, example))
    ensure(
      URL.canParse(origin) && new URL(origin).origin === origin,
      `origins: give exact origins, ${example}`,
    );
  // without an action, a check for another purpose on the same page would be accepted
  ensure(
    typeof action === "string" && /^[\w-]{1,32}$/.test(action),
    'action: give the widget\'s action, "chat"',
  );
  ensure(isWhole(ttlSeconds, 60, 86_400), "ttlSeconds: give a whole number from 60 to 86400");
  ensure(isWhole(maxAgeSeconds, 1, 300), "maxAgeSeconds: give a whole number from 1 to 300");
  const hostnames = options.hostnames ?? origins.map((origin) => new URL(origin).hostname);
  return {
    ...options,
    hostnames: checkTexts("hostnames", hostnames, '["app.example.com"]'),
    ttlSeconds,
    maxAgeSeconds,
    fetch: options.fetch ?? ((request) => fetch(request)),
    advised: new Set(),
  };
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

async function secretKeyOf<Env>({ secretKey }: Settings<Env>, env: Env): Promise<string> {
  return new TextDecoder().decode(await secretOf("turnstileSession: secretKey", secretKey, env, 1));
}

async function answer<Env>(settings: Settings<Env>, request: Request, env: Env): Promise<Response> {
  const origin = request.headers.get("origin");
  let response: Response;
  try {
    checkOrigin(origin, settings.origins);
    if (request.method === "OPTIONS" && origin !== null) response = preflight(request, "POST");
    else response = Response.json(await exchanged(settings, request, env));
  } catch (error) {
    response = await refuse(refusalIn(error), { request, env, log: { advised: settings.advised } });
  }
  const cors = corsHeadersOf(origin, settings.origins, false);
  for (const [name, value] of Object.entries({ ...cors, ...own })) response.headers.set(name, value);
  return response;
}

/** Headers of every answer: no cache may keep a session. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

async function exchanged<Env>(settings: Settings<Env>, request: Request, env: Env) {
  const { method, headers } = request;
  if (method !== "POST")
    throw new Refusal("method_not_allowed", { what: "POST", headers: { allow: "POST, OPTIONS" } });
  const token = await readToken(request);
  // both secrets first: Turnstile accepts a token only once
  const sessionSecret = await secretOf("turnstileSession: sessionSecret", settings.sessionSecret, env, 32);
  const secretKey = await secretKeyOf(settings, env);
  const [remoteIP] = /^[\da-f.:]{2,45}$/i.exec(headers.get("cf-connecting-ip") ?? "") ?? [];
  await checkToken({ token, secretKey, remoteIP }, settings, settings.fetch);

  const now = Math.floor(Date.now() / 1000);
  const endsAt = now + settings.ttlSeconds;
  const session = await new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(ISSUER)
    .setAudience(settings.action)
    .setSubject(`anon-${crypto.randomUUID()}`)
    .setIssuedAt(now)
    .setExpirationTime(endsAt)
    .sign(sessionSecret);
  return { session, expiresAt: endsAt * 1000 };
}

const SITEVERIFY = "https://challenges.cloudflare.com/turnstile/v0/siteverify";

/** The conditions of a valid check. */
interface Wanted {
  readonly hostnames: readonly string[];
  readonly action: string;
  readonly maxAgeSeconds: number;
}

/** One token, as the page sent it. */
interface Sent {
  readonly token: string;
  readonly secretKey: string;
  /** The visitor's address, where the host has it. */
  readonly remoteIP: string | undefined;
}

/**
 * Checks a token at Turnstile, which accepts each token once.
 *
 * @throws {Refusal} 403 for an invalid token, 503 while Turnstile is unreachable, 500 for a wrong secret key
 */
async function checkToken(sent: Sent, wanted: Wanted, fetch: Fetch): Promise<void> {
  const said = await verified(sent, fetch);
  if (said["success"] !== true) throw refusalOf(codesIn(said));
  if (said["action"] !== wanted.action) throw refused("this check was made for another action");
  if (!wanted.hostnames.includes(String(said["hostname"])))
    throw refused("this check was made on another page");
  const age = Date.now() - Date.parse(String(said["challenge_ts"]));
  // a time that can't be read compares false
  if (!(Math.abs(age) <= wanted.maxAgeSeconds * 1000)) throw refused("this check is too old; make a new one");
}

/** Tries twice with the same idempotency key: a lost answer does not waste the token. */
async function verified(sent: Sent, fetch: Fetch): Promise<Record<string, unknown>> {
  const form = new URLSearchParams({
    secret: sent.secretKey,
    response: sent.token,
    idempotency_key: crypto.randomUUID(),
    ...(sent.remoteIP && { remoteip: sent.remoteIP }),
  });
  const said = (await asked(form, fetch)) ?? (await asked(form, fetch));
  if (!said) throw unknowable("turnstile: siteverify could not be asked");
  return said;
}

async function asked(body: URLSearchParams, fetch: Fetch): Promise<Record<string, unknown> | undefined> {
  const answer = await fetchJSON(SITEVERIFY, { method: "POST", body }, fetch).catch(() => undefined);
  if (!answer || answer.status >= 500 || answer.status === 429) return undefined;
  if (typeof answer.json !== "object" || answer.json === null) return undefined;
  const said = answer.json as Record<string, unknown>;
  return codesIn(said).includes("internal-error") ? undefined : said;
}

function codesIn(said: Record<string, unknown>): readonly unknown[] {
  const codes = said["error-codes"];
  return Array.isArray(codes) ? codes : [];
}

function refusalOf(codes: readonly unknown[]): Refusal {
  if (codes.includes("invalid-input-secret") || codes.includes("missing-input-secret"))
    return misconfigured("secretKey: Turnstile does not know it");
  return refused("Turnstile refused this check: it was used before, is too old or is none; make a new one");
}

function refused(message: string): Refusal {
  return new Refusal("said", { said: { status: 403, code: "turnstile_refused", message } });
}

const BODY_BYTES = 8192;
const BODY_MS = 10_000;
const NO_TOKEN = 'send { "token": "…" }, the token of the Turnstile widget';
/** A Turnstile token has at most as many characters. */
const MAX_TOKEN = 2048;

/**
 * Reads the Turnstile token in a request's body, `{ "token": "…" }`.
 *
 * @throws {Refusal} 408, 413, 415 or 400
 */
async function readToken(request: Request): Promise<string> {
  const { token } = { ...(await readBody(request, { bodyBytes: BODY_BYTES, bodyMs: BODY_MS })) };
  if (typeof token !== "string" || token === "" || token.length > MAX_TOKEN)
    throw new Refusal("said", { said: { status: 400, code: "invalid_request", message: NO_TOKEN } });
  return token;
}

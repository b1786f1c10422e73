import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import type { User } from "../api/plugin.js";
import { tryParse } from "../base/parse.js";
import { waitAtMost } from "../base/time.js";
import { openCall } from "../gateway/call.js";
import { readText } from "../gateway/read-json.js";
import { ensure, readOption } from "../refusals/read-option.js";
import { Refusal } from "../refusals/refusal.js";

/** The claims that a token must have. */
export interface Expected {
  readonly issuer: string;
  /** Undefined for tokens that have none. */
  readonly audience: string[] | undefined;
  /** Undefined where `azp` is not looked at. */
  readonly parties: string[] | undefined;
  readonly algorithms: string[];
}

/** Difference between two clocks that is accepted, in seconds. */
const CLOCK_TOLERANCE = 5;

/** Errors of the token itself (401). Any other is the operator's (503). */
const tokenErrors = [
  errors.JWSInvalid,
  errors.JWTInvalid,
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];

/**
 * Returns the claims of a token whose signature, times, issuer, audience and party are right; else what `refused` returns.
 *
 * @throws {Refusal} 503 where the token can't be checked
 */
export async function readClaims(
  token: string,
  key: JWTVerifyGetKey,
  { issuer, audience, parties, algorithms }: Expected,
  refused: (reason: string) => null,
): Promise<JWTPayload | null> {
  const rest = { requiredClaims: ["exp"], clockTolerance: CLOCK_TOLERANCE };
  try {
    const { payload } = await jwtVerify(token, key, {
      issuer,
      algorithms,
      ...rest,
      ...(audience && { audience }),
    });
    // a token for another service of the same issuer
    if (!audience && payload.aud !== undefined) return refused('unexpected "aud" claim value');
    if (parties && !parties.includes(String(payload["azp"]))) return refused('unexpected "azp" claim value');
    return payload;
  } catch (error) {
    // the messages name claims and headers, and no values
    if (tokenErrors.some((type) => error instanceof type))
      return refused((error as Error).message.slice(0, 100));
    throw error instanceof Refusal ? error : refuseUnknown("a key can't be used to check tokens", error);
  }
}

/** Returns the user of an id, or null where the id is not valid. */
export function createUser(id: unknown): User | null {
  return typeof id === "string" && id !== "" && id.length <= 255 ? { id } : null;
}

/** A source of a secret. */
export type Secret<Env> = (env: Env) => string | undefined | Promise<string | undefined>;

/**
 * Reads a secret.
 *
 * @throws {Refusal} 503 if it is missing or too short; the log says which, without its value
 */
export async function readSecret<Env>(secret: Secret<Env>, env: Env, minBytes: number): Promise<Uint8Array> {
  try {
    return await readOption("jwt: secret", secret, env, toBytes);
  } catch (error) {
    throw refuseUnknown((error as Refusal).details.problem, (error as Refusal).cause);
  }

  function toBytes(value: unknown): Uint8Array {
    ensure(typeof value === "string" && value !== "", "jwt: secret: is empty; is the secret set?");
    const bytes = new TextEncoder().encode(value);
    ensure(bytes.byteLength >= minBytes, `jwt: secret: is shorter than ${minBytes} bytes`);
    return bytes;
  }
}

/** Makes the 503 for a caller that can't be identified now. The reason is in the log alone. */
export function refuseUnknown(problem = "a fault of the proxy", cause?: unknown): Refusal {
  return new Refusal("authentication_unavailable", { problem, cause });
}

/** A replacement for the global `fetch`: a service binding, a test. It must not follow redirects. */
export type Fetch = (request: Request) => Promise<Response>;

const RESPONSE_MS = 5000;
const RESPONSE_CHARACTERS = 262_144;

/**
 * Fetches JSON. Time and size of the response are bounded, and a redirect is a response, not followed.
 *
 * @returns the response; `json` is undefined if the body is not JSON, or too large
 * @throws the network's error, or that it took too long
 */
async function fetchJSON(url: string, headers: Readonly<Record<string, string>>, fetch: Fetch) {
  const call = openCall(new AbortController().signal, RESPONSE_MS);
  const request = new Request(url, { headers, redirect: "manual", signal: call.signal });
  const ignoreIfLarge = (error: Refusal) => {
    if (error.reason !== "upstream_type") throw error;
    return "";
  };
  try {
    const response = await call.wait(() => fetch(request), "upstream_unreachable");
    const text = await readText({ response, call }, RESPONSE_CHARACTERS).catch(ignoreIfLarge);
    return { status: response.status, json: tryParse(text) };
  } catch (error) {
    throw call.stopped ? new Error("it took too long") : (error as Refusal).cause;
  } finally {
    call.close();
  }
}

/** Time in milliseconds before keys are fetched again. A withdrawn key is accepted for this time. */
const FRESH_MS = 600_000;
/** Time in milliseconds for which an unknown `kid` causes no new fetch. */
const COOLDOWN_MS = 30_000;
/** Time in milliseconds for which others wait for a fetch before one more is begun. */
const WAIT_MS = 1000;
/** Time for which a failure is cached, in milliseconds: short, because every user is refused meanwhile. */
const RETRY_MS = 5000;
interface Keys {
  readonly find: JWTVerifyGetKey;
  readonly readAt: number;
}

/**
 * The public keys at an address, for `jwtVerify`. Cached in this isolate, and fetched at most once per cool-down, however
 * many tokens name a key that does not exist, and whether or not the address responds. (jose's own remote set fetches
 * again for each request while the address fails and, in Workers, once for each of several requests at the same time.)
 *
 * The function throws a `Refusal` with 503 where the keys can't be had.
 */
export function openKeySet(url: string, fetch: Fetch): JWTVerifyGetKey {
  let held: Keys | undefined;
  /** The fetch under way, or the last one if it failed. */
  let flight: { until: number; readonly keys: Promise<Keys> } | undefined;
  /** The last fetch for an unknown `kid`. The fetches that are due are not among them: a new key may follow them at once. */
  let search: { readonly startedAt: number; readonly keys: Promise<Keys> } | undefined;

  return async (header, token) => {
    const requestedAt = Date.now();
    const keys = held && requestedAt < held.readAt + FRESH_MS ? held : await load();
    try {
      return await keys.find(header, token);
    } catch (error) {
      // keys that were fetched for this token are the newest
      if (!(error instanceof errors.JWKSNoMatchingKey) || keys.readAt >= requestedAt) throw error;
      return await (await searchKeys()).find(header, token);
    }
  };

  function searchKeys(): Promise<Keys> {
    const now = Date.now();
    if (!search || now >= search.startedAt + COOLDOWN_MS) {
      const keys = load();
      search = { startedAt: now, keys };
      keys.catch(() => {
        if (search?.keys === keys) search = undefined;
      });
    }
    return search.keys;
  }

  /** Waits for the fetch under way, a second at most: a Worker drops a fetch when the client of its request leaves. */
  async function load(): Promise<Keys> {
    const requestedAt = Date.now();
    while (flight && Date.now() < flight.until) {
      await waitAtMost(flight.until - Date.now(), flight.keys);
      if (held && held.readAt >= requestedAt) return held;
    }
    const own = { until: Date.now() + WAIT_MS, keys: read() };
    flight = own;
    try {
      held = await own.keys;
      if (flight === own) flight = undefined;
      return held;
    } catch (error) {
      own.until = Date.now() + RETRY_MS;
      throw error;
    }
  }

  async function read(): Promise<Keys> {
    const headers = { accept: "application/json, application/jwk-set+json" };
    const response = await fetchJSON(url, headers, fetch).catch((error: unknown) => {
      throw refuseUnknown("jwks: the keys could not be fetched", error);
    });
    if (response.status !== 200)
      throw refuseUnknown(`jwks: the request for the keys failed with status ${response.status}`);
    try {
      return { find: createLocalJWKSet(response.json as JSONWebKeySet), readAt: Date.now() };
    } catch {
      throw refuseUnknown("jwks: the response is not a JSON Web Key Set");
    }
  }
}

/** @throws {TypeError} for an address that is not https: its keys could be replaced on the way */
export function checkKeysURL(value: unknown): string {
  const text = value instanceof URL ? value.href : value;
  ensure(typeof text === "string" && URL.canParse(text), "jwks: is not a URL");
  const { protocol, hostname, username, password, href } = new URL(text);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  ensure(protocol === "https:" || (protocol === "http:" && isLocal), "jwks: must be https");
  ensure(!username && !password, "jwks: must have no name or password");
  return href;
}

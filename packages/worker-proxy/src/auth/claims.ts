import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { User } from "../admitted.js";
import { ensure, Refusal, readOption } from "../refusal.js";
import { textOf } from "../refusals.js";

/** The claims that a token must have. */
export interface Expected {
  readonly issuer: string;
  readonly audience: string[];
  readonly algorithms: string[];
}

/** How far two clocks may be apart, in seconds. */
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
 * Returns the claims of a token whose signature, times, issuer and audience are right; null for any other.
 *
 * @throws {Refusal} 503 where the token can't be checked
 */
export async function claimsOf(
  token: string,
  key: JWTVerifyGetKey,
  expected: Expected,
): Promise<JWTPayload | null> {
  const rest = { requiredClaims: ["exp"], clockTolerance: CLOCK_TOLERANCE };
  try {
    return (await jwtVerify(token, key, { ...expected, ...rest })).payload;
  } catch (error) {
    if (tokenErrors.some((type) => error instanceof type)) return null;
    throw error instanceof Refusal ? error : unknowable("a key can't be used to check tokens", error);
  }
}

/** Returns the user of that id; nobody where it is none. */
export function userOf(id: unknown): User | null {
  return typeof id === "string" && id !== "" && id.length <= 255 ? { id } : null;
}

/** A source of a secret. */
export type Secret<Env> = (env: Env) => string | undefined | Promise<string | undefined>;

/**
 * Reads a secret.
 *
 * @throws {Refusal} 503 where there is none or it is too short; the log says which, and nothing of its value
 */
export async function secretOf<Env>(
  name: string,
  secret: Secret<Env>,
  env: Env,
  minBytes: number,
): Promise<Uint8Array> {
  try {
    return await readOption(name, secret, env, bytesOf);
  } catch (error) {
    throw unknowable((error as Refusal).details.problem, (error as Refusal).cause);
  }

  function bytesOf(value: unknown): Uint8Array {
    ensure(typeof value === "string" && value !== "", `${name}: is empty; is the secret set?`);
    const bytes = new TextEncoder().encode(value);
    ensure(bytes.byteLength >= minBytes, `${name}: is shorter than ${minBytes} bytes`);
    return bytes;
  }
}

/** The caller can't be identified, for a reason that is not the caller's: nobody gets in, and the log says why. */
export function unknowable(problem = "a fault of the proxy's own", cause?: unknown): Refusal {
  const refusal = new Refusal("authentication_unavailable", { problem, cause });
  // seen by apps that call `authenticate` themselves
  refusal.message = textOf(refusal).message;
  return refusal;
}

/** @throws {TypeError} for an empty text, or none */
export function checkText(name: string, value: unknown, example: string): string {
  ensure(typeof value === "string" && value !== "", `${name}: give a text, ${example}`);
  return value;
}

/** @throws {TypeError} for neither a text nor a list of them; an empty list would let nobody in */
export function checkTexts(name: string, value: unknown, example: string): string[] {
  const texts: unknown[] = Array.isArray(value) ? value : [value];
  ensure(texts.length > 0, `${name}: give at least one, ${example}`);
  return texts.map((text) => checkText(name, text, example));
}

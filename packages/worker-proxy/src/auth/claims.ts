import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { Refusal } from "../refusal.js";
import { unknowable } from "./unknowable.js";

/** What a token has to say of itself. */
export interface Expected {
  readonly issuer: string;
  readonly audience: string[];
  readonly algorithms: string[];
}

/** How far two clocks may be apart, in seconds. */
const CLOCK_TOLERANCE = 5;

/** What is wrong with a token is its sender's affair; anything else is not, and must not look as if it were. */
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
 * What a token says, if its signature, times, issuer and audience are right; null if not.
 *
 * @throws {Refusal} 503 where that can't be told
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
    // what else was thrown may hold a part of the key
    throw error instanceof Refusal ? error : unknowable("a key can't be used to check tokens");
  }
}

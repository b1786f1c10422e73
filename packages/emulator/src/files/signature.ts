import { hash } from "../server/hash.js";

/** Result of a URL check: signed by this emulator and valid, not signed, or expired. */
export type Verdict = "good" | "wrong" | "expired";

const SECONDS = 1000;

/** Signs a URL that is valid until `expiresAt`, in milliseconds since 1970. Returns its query. */
export function sign(name: string, expiresAt: number): string {
  const expires = Math.floor(expiresAt / SECONDS);
  return `expires=${expires}&signature=${computeSignature(name, expires)}`;
}

/** Checks a URL by its query alone. */
export function verify(name: string, query: URLSearchParams, now: number): Verdict {
  const expires = Number(query.get("expires"));
  if (query.get("signature") !== computeSignature(name, expires)) return "wrong";
  return now / SECONDS < expires ? "good" : "expired";
}

// finds URLs that were made up by mistake; protects no secret
function computeSignature(name: string, expires: number): string {
  return hash(`${name} until ${expires}`) + hash(`${expires} ${name} emulator`);
}

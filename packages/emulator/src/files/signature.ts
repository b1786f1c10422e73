import { hash } from "../server/hash.js";

/** Result of checking a URL: made by this emulator and not expired, made elsewhere, or expired. */
export type Verdict = "good" | "wrong" | "expired";

const SECONDS = 1000;

/** Makes the query of a URL that is valid until `expiresAt`, in milliseconds since 1970. */
export function sign(name: string, expiresAt: number): string {
  const expires = Math.floor(expiresAt / SECONDS);
  return `expires=${expires}&signature=${signatureOf(name, expires)}`;
}

/** Checks a URL by its query alone. */
export function verify(name: string, query: URLSearchParams, now: number): Verdict {
  const expires = Number(query.get("expires"));
  if (query.get("signature") !== signatureOf(name, expires)) return "wrong";
  return now / SECONDS < expires ? "good" : "expired";
}

// finds URLs that were made up by mistake; it protects no secret
function signatureOf(name: string, expires: number): string {
  return hash(`${name} until ${expires}`) + hash(`${expires} ${name} emulator`);
}

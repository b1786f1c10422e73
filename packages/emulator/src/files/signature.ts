import { hash } from "../hash.js";

/** Whether an address is good: made here, and not too old. */
export type Verdict = "good" | "wrong" | "expired";

const SECONDS = 1000;

/** The query that makes an address good until `expiresAt`, in milliseconds since 1970. */
export function sign(name: string, expiresAt: number): string {
  const expires = Math.floor(expiresAt / SECONDS);
  return `expires=${expires}&signature=${signatureOf(name, expires)}`;
}

/** Judges an address by its query alone, whether or not the file is still there. */
export function verify(name: string, query: URLSearchParams, now: number): Verdict {
  const expires = Number(query.get("expires"));
  if (query.get("signature") !== signatureOf(name, expires)) return "wrong";
  return now / SECONDS < expires ? "good" : "expired";
}

// keeps addresses from being made up by mistake; there is nothing here to steal
function signatureOf(name: string, expires: number): string {
  return hash(`${name} until ${expires}`) + hash(`${expires} ${name} emulator`);
}

import { SyncFailure } from "./failure.js";

/** The header that names the account of a request and of a response. */
export const ACCOUNT = "x-sluice-account";
const CHARACTERS = 22;

/**
 * Returns the name of a user's account: a hash, which hides an id that can't be guessed. The hash does not depend on a
 * secret of the proxy, because a new secret would stop every device.
 */
export async function createAccount(userId: string): Promise<string> {
  const base64 = btoa(String.fromCharCode(...(await digest(`sluice sync account\n${userId}`))));
  return base64.slice(0, CHARACTERS).replaceAll("+", "-").replaceAll("/", "_");
}

/** Returns the key of a user's rows. It is a digest, because logs and dashboards show the keys of Durable Objects. */
export async function createKey(userId: string): Promise<string> {
  const hex = Array.from(await digest(userId), (byte) => byte.toString(16).padStart(2, "0"));
  return `user:${hex.join("")}`;
}

/** @throws {SyncFailure} if the request names another account, or no account although `isRequired` */
export function checkAccount({ headers }: Request, account: string, isRequired: boolean): void {
  const named = headers.get(ACCOUNT);
  if (named === null && isRequired) throw new SyncFailure("account_missing");
  if (named !== null && named !== account) throw new SyncFailure("account_changed");
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

import { ConnectionError } from "../vocabulary/errors.js";
import { parseOffers } from "./offers.js";
import { requestOnce } from "./request-once.js";
import type { Connection } from "./send.js";

/** Time for which a proxy that offers `once` surely remembers a create, in milliseconds: a day, less an hour. */
const REMEMBERED_MS = 23 * 3_600_000;

/** Returns true if a create that was first sent at this time, in Unix milliseconds, is surely still remembered. */
export function isRemembered(sentAt: number, forMs = REMEMBERED_MS): boolean {
  const age = Date.now() - sentAt;
  return age >= 0 && age <= forMs;
}

/**
 * Asks the proxy, at `GET /health`, what it offers. Straight to a gateway that is nothing.
 *
 * @throws {ConnectionError} where it can't be asked now
 */
export async function fetchOffers(client: Connection): Promise<readonly string[]> {
  try {
    return await requestOnce(client, "/health", {}, ({ status, headers, body }) => {
      body?.cancel().catch(() => {});
      const offers = parseOffers(headers);
      if (!offers && (status === 408 || status === 429 || status >= 500))
        throw new Error(`it answers ${status}`);
      return offers ?? [];
    });
  } catch (cause) {
    throw new ConnectionError("the proxy could not be asked what it remembers", "none", { cause });
  }
}

/** Returns true if the proxy offers this. A client without keys asks nothing, and a proxy that can't be asked offers nothing. */
export async function hasOffer(client: Connection, offer: string): Promise<boolean> {
  if (!client.idempotencyKeys) return false;
  return fetchOffers(client).then(
    (offers) => offers.includes(offer),
    () => false,
  );
}

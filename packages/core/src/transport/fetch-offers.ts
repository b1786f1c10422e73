import { ConnectionError } from "../vocabulary/errors.js";
import { parseOffers } from "./offers.js";
import { requestOnce } from "./request-once.js";
import type { Connection } from "./send.js";

/**
 * Time during which a proxy with `idempotency()` certainly remembers a create request, in milliseconds: a day minus an
 * hour.
 */
const REMEMBERED_MS = 23 * 3_600_000;

/**
 * Returns true if the proxy certainly still remembers a create request that was first sent at `sentAt` (Unix
 * milliseconds).
 */
export function isRemembered(sentAt: number, forMs = REMEMBERED_MS): boolean {
  const age = Date.now() - sentAt;
  return age >= 0 && age <= forMs;
}

/**
 * Fetches the offers of the proxy from `GET /health`. A gateway without a proxy offers nothing.
 *
 * @throws {ConnectionError} if the proxy is unavailable
 */
export async function fetchOffers(client: Connection): Promise<readonly string[]> {
  try {
    return await requestOnce(client, "/health", {}, ({ status, headers, body }) => {
      body?.cancel().catch(() => {});
      const offers = parseOffers(headers);
      if (!offers && (status === 408 || status === 429 || status >= 500))
        throw new Error(`it responds with status ${status}`);
      return offers ?? [];
    });
  } catch (cause) {
    throw new ConnectionError("the proxy could not be asked what it remembers", "none", { cause });
  }
}

/**
 * Returns true if the proxy offers `offer`; false for a client without idempotency keys, and for an unavailable proxy.
 */
export async function hasOffer(client: Connection, offer: string): Promise<boolean> {
  if (!client.idempotencyKeys) return false;
  return fetchOffers(client).then(
    (offers) => offers.includes(offer),
    () => false,
  );
}

import { ConnectionError } from "../vocabulary/errors.js";
import { offersIn } from "./offers.js";
import { requestOnce } from "./request-once.js";
import type { Connection } from "./send.js";

/**
 * Asks the proxy, at `GET /health`, what it offers. Straight to a gateway that is nothing.
 *
 * @throws {ConnectionError} where it can't be asked now
 */
export async function askOffers(client: Connection): Promise<readonly string[]> {
  try {
    return await requestOnce(client, "/health", {}, ({ status, headers, body }) => {
      body?.cancel().catch(() => {});
      const offers = offersIn(headers);
      if (!offers && (status === 408 || status === 429 || status >= 500))
        throw new Error(`it answers ${status}`);
      return offers ?? [];
    });
  } catch (cause) {
    throw new ConnectionError("the proxy could not be asked what it remembers", "not-sent", { cause });
  }
}

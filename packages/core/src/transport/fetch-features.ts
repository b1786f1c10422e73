import { ConnectionError } from "../types/errors.js";
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
 *
 * @example
 * ```ts
 * const canRepeat = isRemembered(Date.now() - 60_000);
 * ```
 */
export function isRemembered(sentAt: number, forMs = REMEMBERED_MS): boolean {
  const age = Date.now() - sentAt;
  return age >= 0 && age <= forMs;
}

/**
 * Fetches the features of the proxy from `GET /health`. A gateway without a proxy has no features.
 *
 * @param signal aborts the request
 * @throws {ConnectionError} if the proxy is unavailable
 * @example
 * ```ts
 * const isOnce = (await fetchFeatures(client)).includes("idempotency");
 * ```
 */
export async function fetchFeatures(client: Connection, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await requestOnce(client, "/health", signal ? { signal } : {}, ({ status, headers, body }) => {
      body?.cancel().catch(() => {});
      const features = parseFeatures(headers);
      if (!features && (status === 408 || status === 429 || status >= 500))
        throw new Error(`it responds with status ${status}`);
      return features ?? [];
    });
  } catch (cause) {
    throw new ConnectionError("the features of the proxy could not be fetched", "none", { cause });
  }
}

/** Parses the features of a proxy from the header `x-sluice-features`; undefined without the header. */
export function parseFeatures(headers: Headers): readonly string[] | undefined {
  return headers
    .get("x-sluice-features")
    ?.trim()
    .split(/\s*,\s*/);
}

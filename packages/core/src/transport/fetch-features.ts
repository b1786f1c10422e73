import { ConnectionError } from "../types/errors.js";
import type { Connection } from "./send.js";
import { fetchWithin } from "./send-request.js";

/**
 * Time during which a proxy with the feature certainly remembers a request, in milliseconds. It stores a create request
 * for a day, and a streamed chat for ten minutes after its end.
 */
const REMEMBERED_MS = { idempotency: 23 * 3_600_000, "resumable-streams": 9 * 60_000 };

/**
 * Returns true if the proxy certainly replays the response to a request that is sent again under its
 * `idempotency-key`, so that it is not billed twice. Returns false without a proxy, and for a client without keys.
 *
 * @param feature feature of the proxy: `resumable-streams` for a streamed chat, `idempotency` for other requests
 * @param sentAt Unix milliseconds at which the request was first sent. @default now
 * @throws {ConnectionError} if the proxy is unavailable
 * @example
 * ```ts
 * const canRepeat = await canReplay(client, "idempotency", Date.now() - 60_000);
 * ```
 */
export async function canReplay(
  client: Connection,
  feature: "idempotency" | "resumable-streams",
  sentAt = Date.now(),
): Promise<boolean> {
  const age = Date.now() - sentAt;
  if (!client.idempotencyKeys || !(age >= 0 && age <= REMEMBERED_MS[feature])) return false;
  return (await fetchFeatures(client)).includes(feature);
}

/**
 * Fetches the features of the proxy from `GET /health`. A gateway without a proxy has no features.
 *
 * @param signal aborts the request
 * @throws {ConnectionError} if the proxy is unavailable
 */
export async function fetchFeatures(client: Connection, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await fetchWithin(client, "/health", signal ? { signal } : {}, ({ status, headers, body }) => {
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

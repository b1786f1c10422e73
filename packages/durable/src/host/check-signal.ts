import { Refusal } from "@sluice/worker-proxy/plugin";

/**
 * Checks that the platform reports disconnected clients. Without its compatibility flag `request.signal` never aborts,
 * and closed tabs would count as readers.
 *
 * @throws {Refusal} 500 `misconfigured`
 */
export function checkSignal(): void {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  if (Cloudflare?.compatibilityFlags?.["enable_request_signal"] === false)
    throw new Refusal("misconfigured", {
      problem: "durable: set the compatibility flag enable_request_signal",
    });
}

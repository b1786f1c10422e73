import {
  type ChatDelta,
  type ChatRequest,
  type ChatTurn,
  type Client,
  isGatewayError,
  type RequestOptions,
  streamChat,
} from "@sluice/core";
import { createBackoff, hasOffer } from "@sluice/core/internal";

const FIRST_WAIT_MS = 1000;

/**
 * Streams one chat response, and bills it once. Only a 429 is repeated, because the gateway does not bill a 429. A proxy
 * that remembers the key makes all repetitions safe: there the client repeats as usual.
 */
export async function streamOnce(
  client: Client,
  request: ChatRequest,
  options: RequestOptions,
  onDelta: (delta: ChatDelta) => void,
): Promise<ChatTurn> {
  const isRemembered = await hasOffer(client, "chat-once");
  const { limit, maxDelayMs } = client.retry;
  const backoff = createBackoff(client, { limit, firstMs: FIRST_WAIT_MS, longestMs: maxDelayMs });
  for (;;) {
    const stream = streamChat(client, request, isRemembered ? options : { ...options, retry: { limit: 0 } });
    try {
      for await (const delta of stream) onDelta(delta);
      return await stream.result();
    } catch (error) {
      if (isRemembered || !isBusy(error, maxDelayMs)) throw error;
      await backoff.wait(error, options);
    }
  }
}

/** True for a 429 whose wait is short enough. */
function isBusy(error: unknown, maxDelayMs: number): boolean {
  if (!isGatewayError(error) || error.name !== "APIError") return false;
  return error.status === 429 && (error.retryAfterMs ?? 0) <= maxDelayMs;
}

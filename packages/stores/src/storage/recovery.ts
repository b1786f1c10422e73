import { storageBackoff } from "./storage-backoff.js";

/** Repeats `read`, with growing waits before each attempt, until it does not reject or `signal` aborts. Never rejects. */
export async function readLater(
  client: Parameters<typeof storageBackoff>[0],
  read: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<unknown> {
  const backoff = storageBackoff(client);
  for (;;)
    try {
      await backoff.wait(undefined, { signal });
      return await read();
    } catch {
      if (signal?.aborted) return;
    }
}

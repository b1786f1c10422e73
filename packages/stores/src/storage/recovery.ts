import { createStorageBackoff } from "./storage-backoff.js";

/** Repeats `read` after growing waits, until it succeeds or `signal` aborts. Never rejects. */
export async function readLater(
  client: Parameters<typeof createStorageBackoff>[0],
  read: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<unknown> {
  const backoff = createStorageBackoff(client);
  for (;;)
    try {
      await backoff.wait(undefined, { signal });
      return await read();
    } catch {
      if (signal?.aborted) return;
    }
}

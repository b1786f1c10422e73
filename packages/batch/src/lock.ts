import type { Client, RecordStorage } from "@sluice/core";
import { addUserPrefix, isLocked, withLock } from "@sluice/stores/extend";
import type { Write } from "./ledger.js";

/** Time between two attempts to acquire a storage's lock, in milliseconds. */
const AGAIN_MS = 1000;

/**
 * Runs `act` while no other tab or process runs the batch: under a lock of the storage, or under a Web Lock. Calls
 * `onBusy` when it has to wait.
 *
 * @throws the signal's reason while it waits; errors of `act` and of the storage
 */
export async function runAlone(
  client: Client,
  storage: RecordStorage,
  name: string,
  signal: AbortSignal,
  onBusy: () => void,
  act: (write: Write) => Promise<void>,
): Promise<void> {
  if (!storage.lock) {
    const lock = addUserPrefix(client, `sluice/${name}`);
    if (await isLocked(client, lock)) onBusy();
    return withLock(client, lock, signal, () => act(storage.write));
  }
  for (;;) {
    signal.throwIfAborted();
    const lock = await storage.lock(name);
    if (lock) return act(lock.write).finally(lock.release);
    onBusy();
    await client.clock.sleep(AGAIN_MS, signal);
  }
}

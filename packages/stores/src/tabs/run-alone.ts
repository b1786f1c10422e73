import type { Client, RecordStorage } from "@sluice/core";
import { addUserPrefix } from "../base/user-prefix.js";
import { isLocked, withLock } from "./locks.js";

/** Time between two attempts to acquire a storage's lock, in milliseconds. */
const RETRY_MS = 1000;

/** Options of {@link runAlone}. */
interface RunAloneOptions {
  /** Ends the wait. It does not end `act`. */
  readonly signal: AbortSignal;
  /** Called when the work has to wait: once for a Web Lock, each second for a lock of the storage. */
  readonly onBusy: () => void;
}

/**
 * Runs `act` while no other tab or process of this user does work of the same name: under a lock of the storage, or under
 * a Web Lock. Without both, `act` runs at once. `act` gets a `write`. With a lock of the storage, it fails once the lock is lost.
 *
 * @param storage a storage of `getClientStorage`
 * @throws the signal's reason while it waits; errors of `act` and of the storage
 * @example
 * ```ts
 * const onBusy = () => show("exporting in another tab");
 * await runAlone(client, storage, "app/export", { signal, onBusy }, async () => show("exporting"));
 * ```
 */
export async function runAlone(
  client: Client,
  storage: RecordStorage,
  name: string,
  { signal, onBusy }: RunAloneOptions,
  act: (write: RecordStorage["write"]) => Promise<void>,
): Promise<void> {
  if (!storage.lock) {
    const lockName = addUserPrefix(client, `sluice/${name}`);
    if (await isLocked(client, lockName)) onBusy();
    return withLock(client, lockName, signal, () => act(storage.write));
  }
  for (;;) {
    signal.throwIfAborted();
    const lock = await storage.lock(name);
    if (lock) return act(lock.write).finally(lock.release);
    onBusy();
    await client.clock.sleep(RETRY_MS, signal);
  }
}

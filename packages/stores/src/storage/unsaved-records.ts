import type { ClientEvent } from "@sluice/core";
import { storageBackoff } from "./storage-backoff.js";
import type { WaitingClient } from "./wait.js";
import type { Attempt, Part } from "./write-attempt.js";

/**
 * Reason why a record is unsaved. `storage`: nothing could be written; it goes with the next write. `record`: the
 * storage took others, but not this one; it is tried with growing waits, so that it costs the others nothing.
 */
type Reason = "storage" | "record";

/** A record that is unsaved. */
interface UnsavedRecord {
  readonly reason: Reason;
  /** The last write of it, which may still come to a good end. */
  readonly late: Part | undefined;
}

/** Records that could not be written. They are tried again for as long as there are any. */
export interface UnsavedRecords {
  readonly records: ReadonlyMap<string, UnsavedRecord>;
  /** Returns keys of the records that are unsaved for a reason. */
  heldBy(reason: Reason, most?: number): string[];
  /**
   * Notes the records that an attempt has not written.
   *
   * @param before number of unsaved records at its start
   */
  note(attempt: Attempt, before: number): void;
  /** Notes records that are not written now, because the storage has not answered the last write. */
  hold(keys: Iterable<string>): void;
  /** Notes that a part was written. The attempt that it belongs to ends with `note`. */
  written(part: Part): void;
  /** Notes that late writes have come to a good end, or that a record is no longer wanted. */
  drop(keys: readonly string[]): void;
}

/** Options of {@link createUnsavedRecords}. */
interface UnsavedOptions {
  readonly client: WaitingClient & { readonly emit: (event: ClientEvent) => void };
  readonly onFailure: (error: unknown, keys: readonly string[]) => void;
  readonly onUnsaved?: () => void;
}

/**
 * Creates an empty set.
 *
 * @param retry tries some of the records again
 * @param leave writes all of them, because the page may be closed
 */
export function createUnsavedRecords(
  { client, onFailure, onUnsaved }: UnsavedOptions,
  retry: () => Promise<void>,
  leave: () => void,
): UnsavedRecords {
  const records = new Map<string, UnsavedRecord>();
  /** Aborted when nothing is unsaved any longer. */
  let recovery: AbortController | undefined;

  return {
    records,
    heldBy: (reason, most = Number.POSITIVE_INFINITY) =>
      [...records].flatMap(([key, held]) => (held.reason === reason ? key : [])).slice(0, most),
    note({ isTaken, failed, refusals, late, error }, before) {
      if (before === 0 && failed.size > 0 && !isTaken) onFailure(error, [...failed]);
      for (const key of failed) {
        const isRefused = isTaken && refusals.has(key);
        const known = records.get(key)?.reason;
        if (isRefused && known !== "record") onFailure(refusals.get(key), [key]);
        // the others are tried before it the next time
        if (refusals.has(key)) records.delete(key);
        records.set(key, { reason: isRefused ? "record" : (known ?? "storage"), late: late.get(key) });
      }
      changed(before);
    },
    hold(keys) {
      const before = records.size;
      for (const key of keys) if (!records.has(key)) records.set(key, { reason: "storage", late: undefined });
      changed(before);
    },
    written({ keys }) {
      for (const key of keys) records.delete(key);
    },
    drop(keys) {
      const before = records.size;
      for (const key of keys) records.delete(key);
      changed(before);
    },
  };

  /** Begins or ends the recovery. */
  function changed(before: number): void {
    if (records.size > 0 && !recovery) {
      recovery = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", leave, { signal: recovery.signal });
      void recover(recovery.signal);
    }
    if (records.size === 0 && recovery) {
      recovery.abort(null);
      recovery = undefined;
      client.emit({ type: "storage-recovered" });
    }
    if (records.size !== before) onUnsaved?.();
  }

  /** Tries what is unsaved again and again, with growing waits. */
  async function recover(signal: AbortSignal): Promise<void> {
    const backoff = storageBackoff(client);
    while (!signal.aborted) {
      const before = records.size;
      await backoff.wait(undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await retry();
      if (records.size < before) backoff.reset();
    }
  }
}

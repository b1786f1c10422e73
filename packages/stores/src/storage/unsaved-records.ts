import type { ClientEvent } from "@sluice/core";
import { createStorageBackoff, type WaitingClient } from "./wait.js";

/** Keys of the records of one write. */
export type WriteBatch = ReadonlySet<string>;

/** Result of one attempt to write records, in one or more batches. */
export interface Attempt {
  /** True if the storage accepted a record. */
  readonly isAccepted: boolean;
  /** Keys of the records that were not written. */
  readonly failed: ReadonlySet<string>;
  /** Errors of records that failed in a batch of one. */
  readonly refusals: ReadonlyMap<string, unknown>;
  /** The batch that was late and ended the attempt. It may still succeed. */
  readonly late: WriteBatch | undefined;
  /** Error of the last failed batch. */
  readonly error?: unknown;
}

/**
 * Reason why a record is unsaved. `storage`: nothing could be written; the next write retries it. `record`: the storage
 * accepted other records, but not this one; it is retried after growing waits, so that it does not delay the others.
 */
type Reason = "storage" | "record";

/** An unsaved record. */
interface UnsavedRecord {
  readonly reason: Reason;
  /** Its last write, if late. It may still succeed. */
  readonly late: WriteBatch | undefined;
}

/** Records that could not be written. They are retried until all are written. */
export interface UnsavedRecords {
  readonly records: ReadonlyMap<string, UnsavedRecord>;
  /** Returns the keys of records that are unsaved for a reason. */
  listByReason(reason: Reason, max?: number): string[];
  /**
   * Notes the failed records of an attempt.
   *
   * @param before number of unsaved records at its start
   */
  note(attempt: Attempt, before: number): void;
  /** Notes records that are not written during a pause. */
  hold(keys: Iterable<string>): void;
  /** Notes that a batch was written. Its attempt ends with `note`. */
  markWritten(batch: WriteBatch): void;
  /** Forgets records after a late write has succeeded, or because they are not needed any longer. */
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
 * @param retry retries some of the records
 * @param writeOnUnload writes all of them, because the page may be closed
 */
export function createUnsavedRecords(
  { client, onFailure, onUnsaved }: UnsavedOptions,
  retry: () => Promise<void>,
  writeOnUnload: () => void,
): UnsavedRecords {
  const records = new Map<string, UnsavedRecord>();
  /** Aborted when all records are written. */
  let recovery: AbortController | undefined;

  return {
    records,
    listByReason: (reason, max = Number.POSITIVE_INFINITY) =>
      [...records].flatMap(([key, record]) => (record.reason === reason ? key : [])).slice(0, max),
    note({ isAccepted, failed, refusals, late, error }, before) {
      if (before === 0 && failed.size > 0 && !isAccepted) onFailure(error, [...failed]);
      for (const key of failed) {
        const isRefused = isAccepted && refusals.has(key);
        const known = records.get(key)?.reason;
        if (isRefused && known !== "record") onFailure(refusals.get(key), [key]);
        // moved to the end, so that the next attempt tries the others first
        if (refusals.has(key)) records.delete(key);
        const reason = isRefused ? "record" : (known ?? "storage");
        records.set(key, { reason, late: late?.has(key) ? late : undefined });
      }
      update(before);
    },
    hold(keys) {
      const before = records.size;
      for (const key of keys) if (!records.has(key)) records.set(key, { reason: "storage", late: undefined });
      update(before);
    },
    markWritten(batch) {
      for (const key of batch) records.delete(key);
    },
    drop(keys) {
      const before = records.size;
      for (const key of keys) records.delete(key);
      update(before);
    },
  };

  /** Begins or ends the recovery. */
  function update(before: number): void {
    if (records.size > 0 && !recovery) {
      recovery = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", writeOnUnload, { signal: recovery.signal });
      void recover(recovery.signal);
    }
    if (records.size === 0 && recovery) {
      recovery.abort(null);
      recovery = undefined;
      client.emit({ type: "storage-recovered" });
    }
    if (records.size !== before) onUnsaved?.();
  }

  /** Retries the unsaved records after growing waits. */
  async function recover(signal: AbortSignal): Promise<void> {
    const backoff = createStorageBackoff(client);
    while (!signal.aborted) {
      const before = records.size;
      await backoff.wait(undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await retry();
      if (records.size < before) backoff.reset();
    }
  }
}

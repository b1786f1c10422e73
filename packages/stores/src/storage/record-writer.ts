import type { RecordStorage } from "@sluice/core";
import type { Reporter } from "../base/platform-limits.js";
import { createStorageBackoff, type WaitingClient, waitForStorage } from "./wait.js";

/** Options of {@link createRecordWriter}. */
interface RecordWriterOptions {
  /** Client whose clock and random numbers the waits use. It emits `storage-recovered`. */
  readonly client: WaitingClient & Reporter;
  /** Storage of the client, from `getClientStorage`. */
  readonly storage: RecordStorage;
  /** Name of the collection, without the user. */
  readonly collection: string;
  /** Returns the current record; undefined removes it. */
  readonly createRecord: (key: string) => unknown;
  /** Called when writes begin to fail, and for each record that the storage rejects while it accepts others. */
  readonly onFailure: (error: unknown, keys: readonly string[]) => void;
  /** Called when `unsaved` has changed. */
  readonly onUnsaved?: () => void;
}

/** Keys of the records of one write. */
type WriteBatch = ReadonlySet<string>;

/**
 * Reason why a record is unsaved. `storage`: nothing could be written; the next write retries it. `record`: the storage
 * accepted other records, but not this one; it is retried after growing waits, so that it does not delay the others.
 */
type Reason = "storage" | "record";

/** Maximum number of retried records in one attempt, until the storage accepts one. */
const MAX_RETRIED = 16;
/** First pause after a late write, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 1000;

/** Writes the records of one collection. Retries a failed record as long as the page is open. */
export type RecordWriter = ReturnType<typeof createRecordWriter>;

/**
 * Creates the writer of a collection. A record is `due` after a change, `inFlight` during a write, and `unsaved` after a
 * failed write.
 */
export function createRecordWriter(options: RecordWriterOptions) {
  const { client, storage, collection, createRecord, onFailure, onUnsaved } = options;
  /** Keys of records that have changed since the last write. */
  const due = new Set<string>();
  const inFlight = new Set<string>();
  /** Records that could not be written so far. `late` is their last write, if it was late and may still succeed. */
  const unsaved = new Map<string, { readonly reason: Reason; readonly late: WriteBatch | undefined }>();
  /** Aborted when all records are written. */
  let recovery: AbortController | undefined;
  /** Records of the last write, until it ends. Earlier writes have then ended too: a storage works in order. */
  let lastBatch: WriteBatch | undefined;
  /** Last pause. A stalled storage runs every open write once it recovers, so that more writes would delay the latest. */
  let pauseMs = 0;
  let pausedUntil = 0;
  /** Resolves at the end of all writes so far. */
  let writing: Promise<void> = Promise.resolve();
  let isUnloading = false;

  return {
    due: due as ReadonlySet<string>,
    unsaved: unsaved as ReadonlyMap<string, unknown>,
    /** Marks a record as changed, for the next write. */
    mark: (key: string) => void due.add(key),
    /** Forgets a change, so that the record is not written. Returns false if its write has begun. */
    unmark(key: string): boolean {
      // a started write may still succeed, so that the next write must include the change
      if (!inFlight.has(key) && !unsaved.get(key)?.late) due.delete(key);
      dropUnsaved([key]);
      return !due.has(key);
    },
    write,
    writeOnUnload,
  };

  /** Writes all due records after earlier writes. Resolves when the write has succeeded or failed. Never rejects. */
  function write(): Promise<void> {
    return due.size === 0 ? writing : flush(listUnsaved("storage", MAX_RETRIED));
  }

  function retry(): Promise<void> {
    return flush([...listUnsaved("storage", MAX_RETRIED), ...listUnsaved("record", MAX_RETRIED)]);
  }

  /**
   * Writes the due records and some unsaved ones. After a success, writes all records that waited for the storage. Does
   * not write during a pause.
   */
  function flush(retriedKeys: readonly string[]): Promise<void> {
    writing = writing.then(async () => {
      if (client.clock.now() < pausedUntil) return markDueUnsaved();
      const keys = new Set([...retriedKeys, ...due]);
      due.clear();
      if (keys.size === 0) return;
      if (!(await attemptOrPause([...keys]))) return;
      const rest = listUnsaved("storage");
      if (rest.length > 0) await attemptOrPause(rest);
    });
    return writing;
  }

  /** Marks the due records as unsaved, because nothing is written during a pause. */
  function markDueUnsaved(): void {
    const before = unsaved.size;
    for (const key of due) if (!unsaved.has(key)) unsaved.set(key, { reason: "storage", late: undefined });
    updateRecovery(before);
  }

  /** Writes all due and unsaved records without waiting for earlier writes, because the page may be closed. */
  function writeOnUnload(): void {
    // the owner of this writer may listen for `pagehide`, too, so that this function runs twice
    const first = new Set([...(isUnloading ? [] : [...listUnsaved("storage"), ...inFlight]), ...due]);
    const rejected = isUnloading ? [] : listUnsaved("record").filter((key) => !first.has(key));
    due.clear();
    isUnloading = true;
    queueMicrotask(() => {
      isUnloading = false;
    });
    // an earlier write may hang, and a closed page does not see its end; rejected records must not stop the others
    const attempts = [[...first], rejected].filter(({ length }) => length > 0).map(attempt);
    writing = Promise.all([writing, ...attempts]).then(() => {});
  }

  /** Writes records. Begins a pause if the write is late. Returns true if the storage accepted a record. */
  async function attemptOrPause(keys: readonly string[]): Promise<boolean> {
    const { isAccepted, late } = await attempt(keys);
    // a late write may have ended since, while the page was frozen
    if (late && late === lastBatch) {
      pauseMs = Math.max(FIRST_PAUSE_MS, 2 * pauseMs);
      pausedUntil = client.clock.now() + pauseMs;
    }
    return isAccepted;
  }

  /** Writes records and notes the failed ones. */
  async function attempt(keys: readonly string[]): ReturnType<typeof attemptWrite> {
    const before = unsaved.size;
    const result = await attemptWrite(keys, writeBatch);
    const { isAccepted, failed, refusals, late, error } = result;
    if (before === 0 && failed.size > 0 && !isAccepted) onFailure(error, [...failed]);
    for (const key of failed) {
      const isRefused = isAccepted && refusals.has(key);
      const known = unsaved.get(key)?.reason;
      if (isRefused && known !== "record") onFailure(refusals.get(key), [key]);
      // moved to the end, so that the next attempt tries the others first
      if (refusals.has(key)) unsaved.delete(key);
      const reason = isRefused ? "record" : (known ?? "storage");
      unsaved.set(key, { reason, late: late?.has(key) ? late : undefined });
    }
    updateRecovery(before);
    return result;
  }

  /** Writes the current records of a batch. Throws if the storage rejects them or is late. */
  async function writeBatch(batch: WriteBatch): Promise<void> {
    for (const key of batch) inFlight.add(key);
    try {
      await waitForStorage(
        client.clock,
        () => writeNow(batch),
        () => noteLateWrite(batch),
      );
    } finally {
      for (const key of batch) inFlight.delete(key);
    }
    for (const key of batch) unsaved.delete(key);
  }

  async function writeNow(batch: WriteBatch): Promise<void> {
    lastBatch = batch;
    try {
      await storage.write(collection, new Map([...batch].map((key) => [key, createRecord(key)])));
    } finally {
      if (lastBatch === batch) {
        lastBatch = undefined;
        pauseMs = pausedUntil = 0;
      }
    }
  }

  /** Notes that a late write has succeeded, unless its records have changed or are being written again. */
  function noteLateWrite(batch: WriteBatch): void {
    const isLast = (key: string) => unsaved.get(key)?.late === batch && !inFlight.has(key);
    dropUnsaved([...batch].filter((key) => isLast(key) && !due.has(key)));
    if (!lastBatch) void retry();
  }

  function listUnsaved(reason: Reason, max = Number.POSITIVE_INFINITY): string[] {
    return [...unsaved].flatMap(([key, record]) => (record.reason === reason ? key : [])).slice(0, max);
  }

  function dropUnsaved(keys: readonly string[]): void {
    const before = unsaved.size;
    for (const key of keys) unsaved.delete(key);
    updateRecovery(before);
  }

  /** Begins or ends the recovery. */
  function updateRecovery(before: number): void {
    if (unsaved.size > 0 && !recovery) {
      recovery = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", writeOnUnload, { signal: recovery.signal });
      void recover(recovery.signal);
    }
    if (unsaved.size === 0 && recovery) {
      recovery.abort(null);
      recovery = undefined;
      client.emit({ type: "storage-recovered" });
    }
    if (unsaved.size !== before) onUnsaved?.();
  }

  /** Retries the unsaved records after growing waits. */
  async function recover(signal: AbortSignal): Promise<void> {
    const backoff = createStorageBackoff(client);
    while (!signal.aborted) {
      const before = unsaved.size;
      await backoff.wait(undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await retry();
      if (unsaved.size < before) backoff.reset();
    }
  }
}

/** Writes all records in one batch. If it fails, writes each half, down to the failing record. Never rejects. */
async function attemptWrite(all: readonly string[], write: (batch: WriteBatch) => Promise<void>) {
  /** Keys of the records that were not written. */
  const failed = new Set<string>();
  /** Errors of records that failed in a batch of one. */
  const refusals = new Map<string, unknown>();
  /** The batch that was late and ended the attempt. It may still succeed. */
  let late: WriteBatch | undefined;
  /** True if the storage accepted a record. */
  let isAccepted = false;
  /** Error of the last failed batch. */
  let error: unknown;
  // enough halvings to find one failing record, and four more tries
  let failuresLeft = Math.ceil(Math.log2(all.length + 1)) + 4;
  let isOver = false;
  await writeAll(all);
  return { isAccepted, failed, refusals, late, error };

  async function writeAll(keys: readonly string[]): Promise<void> {
    if (!isOver && (await writeOnce(keys))) return;
    if (isOver || keys.length === 1) {
      for (const key of keys) failed.add(key);
      return;
    }
    const half = Math.ceil(keys.length / 2);
    await writeAll(keys.slice(0, half));
    await writeAll(keys.slice(half));
  }

  async function writeOnce(keys: readonly string[]): Promise<boolean> {
    const batch = new Set(keys);
    try {
      await write(batch);
      isAccepted = true;
      return true;
    } catch (cause) {
      error = cause;
      failuresLeft -= 1;
      if ((cause as Error)?.name === "TimeoutError") late = batch;
      else if (batch.size === 1) for (const key of batch) refusals.set(key, cause);
      isOver = late !== undefined || (!isAccepted && failuresLeft === 0);
      return false;
    }
  }
}

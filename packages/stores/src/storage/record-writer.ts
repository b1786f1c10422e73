import type { ClientEvent, RecordStorage } from "@sluice/core";
import { type Attempt, createUnsavedRecords, type WriteBatch } from "./unsaved-records.js";
import { type WaitingClient, waitForStorage } from "./wait.js";

/** Writes the records of one collection. Retries a failed record as long as the page is open. */
export interface RecordWriter {
  /** Keys of records that have changed since the last write. */
  readonly due: ReadonlySet<string>;
  /** Records that could not be written so far, by key. Empty while writes succeed. */
  readonly unsaved: ReadonlyMap<string, unknown>;
  /** Marks a record as changed, for the next write. */
  readonly mark: (key: string) => void;
  /** Forgets a change, so that the record is not written, unless its write has begun. */
  readonly unmark: (key: string) => void;
  /** Marks a record and writes it. Resolves like `write`. */
  readonly markAndWrite: (key: string) => Promise<void>;
  /** Writes all due records after earlier writes. Resolves when the write has succeeded or failed. Never rejects. */
  readonly write: () => Promise<void>;
  /** Writes all due and unsaved records without waiting for earlier writes, because the page may be closed. */
  readonly writeOnUnload: () => void;
}

/** Options of {@link createRecordWriter}. */
export interface RecordWriterOptions {
  /** Client whose clock and random numbers the waits use. */
  readonly client: WaitingClient & {
    /** Receives `storage-recovered`. */
    readonly emit: (event: ClientEvent) => void;
  };
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

/** Maximum number of unsaved records in one attempt, until the storage accepts one. */
const PROBE = 16;
/** First pause after a late write, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 1000;

/**
 * Creates the writer of a collection. A record is `due` after a change, `inFlight` during a write, and `unsaved` after a
 * failed write.
 */
export function createRecordWriter(options: RecordWriterOptions): RecordWriter {
  const { client, storage, collection, createRecord } = options;
  const due = new Set<string>();
  const inFlight = new Set<string>();
  const unsaved = createUnsavedRecords(options, retry, writeOnUnload);
  /** The last write until it ends. Its end also ends all earlier writes: a storage works in order, or has lost them. */
  let last: WriteBatch | undefined;
  /** Last pause. A stalled storage that recovers runs each open write, so that more writes would delay the latest one. */
  let pauseMs = 0;
  let pausedUntil = 0;
  /** Resolves at the end of all writes so far. */
  let writing: Promise<void> = Promise.resolve();
  let isUnloading = false;

  return {
    due,
    unsaved: unsaved.records,
    mark: (key) => void due.add(key),
    unmark(key) {
      // a started write may still succeed, so that the next write must include the change
      if (!inFlight.has(key) && !unsaved.records.get(key)?.late) due.delete(key);
      unsaved.drop([key]);
    },
    markAndWrite(key) {
      due.add(key);
      return write();
    },
    write,
    writeOnUnload,
  };

  function write(): Promise<void> {
    return due.size === 0 ? writing : flush(unsaved.listByReason("storage", PROBE));
  }

  function retry(): Promise<void> {
    return flush([...unsaved.listByReason("storage", PROBE), ...unsaved.listByReason("record", PROBE)]);
  }

  /**
   * Writes the due records and some unsaved ones. After a success, writes all records that waited for the storage. Does
   * not write during a pause.
   */
  function flush(others: readonly string[]): Promise<void> {
    writing = writing.then(async () => {
      if (client.clock.now() < pausedUntil) return unsaved.hold(due);
      const keys = new Set([...others, ...due]);
      due.clear();
      if (keys.size === 0) return;
      if (!(await attemptInTurn([...keys]))) return;
      const rest = unsaved.listByReason("storage");
      if (rest.length > 0) await attemptInTurn(rest);
    });
    return writing;
  }

  function writeOnUnload(): void {
    // the owner of this writer may listen for `pagehide`, too, so that this function runs twice
    const first = new Set([
      ...(isUnloading ? [] : [...unsaved.listByReason("storage"), ...inFlight]),
      ...due,
    ]);
    const rejected = isUnloading ? [] : unsaved.listByReason("record").filter((key) => !first.has(key));
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
  async function attemptInTurn(keys: readonly string[]): Promise<boolean> {
    const { isAccepted, late } = await attempt(keys);
    // it may have ended while the page was frozen
    if (late && late === last) {
      pauseMs = Math.max(FIRST_PAUSE_MS, 2 * pauseMs);
      pausedUntil = client.clock.now() + pauseMs;
    }
    return isAccepted;
  }

  /** Writes records and notes the failed ones. */
  async function attempt(keys: readonly string[]): Promise<Attempt> {
    const before = unsaved.records.size;
    const result = await attemptWrite(keys, writeBatch);
    unsaved.note(result, before);
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
    unsaved.markWritten(batch);
  }

  async function writeNow(batch: WriteBatch): Promise<void> {
    last = batch;
    try {
      await storage.write(collection, new Map([...batch].map((key) => [key, createRecord(key)])));
    } finally {
      if (last === batch) {
        last = undefined;
        pauseMs = pausedUntil = 0;
      }
    }
  }

  /** Notes that a late write has succeeded, unless its records have changed or are being written again. */
  function noteLateWrite(batch: WriteBatch): void {
    const isLast = (key: string) => unsaved.records.get(key)?.late === batch && !inFlight.has(key);
    unsaved.drop([...batch].filter((key) => isLast(key) && !due.has(key)));
    if (!last) void retry();
  }
}

/** Writes all records in one batch. If it fails, writes each half, down to the failing record. Never rejects. */
async function attemptWrite(
  all: readonly string[],
  write: (batch: WriteBatch) => Promise<void>,
): Promise<Attempt> {
  const failed = new Set<string>();
  const refusals = new Map<string, unknown>();
  let late: WriteBatch | undefined;
  let isAccepted = false;
  let error: unknown;
  // enough to find one failing record and to try some others before the storage accepts a record
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

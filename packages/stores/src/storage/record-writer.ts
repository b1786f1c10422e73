import type { ClientEvent, RecordStorage } from "@sluice/core";
import { createOpenWrites } from "./open-writes.js";
import { createUnsavedRecords } from "./unsaved-records.js";
import { type WaitingClient, waitForStorage } from "./wait.js";
import { type Attempt, attemptWrite, type Part } from "./write-attempt.js";

/** Writer of the records of one collection. A record that could not be written stays due as long as the page lives. */
export interface RecordWriter {
  /** Keys of records that have changed since the last write. */
  readonly due: ReadonlySet<string>;
  /** Keys of records that could not be written, and still are not. Empty while writes go well. */
  readonly unsaved: ReadonlyMap<string, unknown>;
  /** Notes that a record has changed: the next write has it. */
  readonly mark: (key: string) => void;
  /** Forgets a change: the record is not written, unless a write of it has begun. */
  readonly unmark: (key: string) => void;
  /** Marks a record, and writes it. Resolves as `write` does. */
  readonly put: (key: string) => Promise<void>;
  /** Writes what is due, after the writes before. Resolves when that has succeeded or failed. Never rejects. */
  readonly write: () => Promise<void>;
  /** Writes what is due or unsaved, without waiting for writes before: the page may be closed now. */
  readonly leave: () => void;
}

/** Options of {@link createRecordWriter}. */
export interface RecordWriterOptions {
  /** Client whose clock and random numbers the waits use. */
  readonly client: WaitingClient & {
    /** Receives `storage-recovered`. */
    readonly emit: (event: ClientEvent) => void;
  };
  /** Storage of the client, from `storageOf`. */
  readonly storage: RecordStorage;
  /** Name of the collection, without a scope. */
  readonly collection: string;
  /** Returns a record as it is now; undefined removes it. */
  readonly recordOf: (key: string) => unknown;
  /** Called when writes begin to fail, and for each record that is refused while the storage takes others. */
  readonly onFailure: (error: unknown, keys: readonly string[]) => void;
  /** Called when the storage has taken records. */
  readonly onWritten?: () => void;
  /** Called when `unsaved` has changed. */
  readonly onUnsaved?: () => void;
}

/** Most unsaved records that are tried at once, until the storage has taken one. */
const PROBE = 16;

/**
 * Creates the writer of a collection. A record is `due` after a change, `inFlight` while a write of it has not ended, and
 * unsaved after a write that failed.
 */
export function createRecordWriter(options: RecordWriterOptions): RecordWriter {
  const { client, storage, collection, recordOf, onWritten } = options;
  const due = new Set<string>();
  const inFlight = new Set<string>();
  const unsaved = createUnsavedRecords(options, retry, leave);
  const openWrites = createOpenWrites(client.clock);
  /** The end of all writes so far. */
  let writing: Promise<void> = Promise.resolve();
  let isLeaving = false;

  return {
    due,
    unsaved: unsaved.records,
    mark: (key) => void due.add(key),
    unmark(key) {
      // a write that has begun may still come to its end: the next one has the change
      if (!inFlight.has(key) && !unsaved.records.get(key)?.late) due.delete(key);
      unsaved.drop([key]);
    },
    put(key) {
      due.add(key);
      return write();
    },
    write,
    leave,
  };

  function write(): Promise<void> {
    return due.size === 0 ? writing : flush(unsaved.heldBy("storage", PROBE));
  }

  function retry(): Promise<void> {
    return flush([...unsaved.heldBy("storage", PROBE), ...unsaved.heldBy("record", PROBE)]);
  }

  /**
   * Writes what is due, with some of what is unsaved. After a success it writes all that waited for the storage. While the
   * storage is silent, what is due stays due.
   */
  function flush(others: readonly string[]): Promise<void> {
    writing = writing.then(async () => {
      if (openWrites.isPaused()) return unsaved.hold(due);
      const keys = new Set([...others, ...due]);
      due.clear();
      if (keys.size === 0) return;
      if (!(await attemptInTurn([...keys]))) return;
      const rest = unsaved.heldBy("storage");
      if (rest.length > 0) await attemptInTurn(rest);
      onWritten?.();
    });
    return writing;
  }

  function leave(): void {
    // the owner of this writer may listen for the end of the page, too
    const first = new Set([...(isLeaving ? [] : [...unsaved.heldBy("storage"), ...inFlight]), ...due]);
    const refused = isLeaving ? [] : unsaved.heldBy("record").filter((key) => !first.has(key));
    due.clear();
    isLeaving = true;
    queueMicrotask(() => {
      isLeaving = false;
    });
    // a page that is closed does not see the end of an earlier write, which may hang; and what is refused must not stop
    // the others
    const written = [[...first], refused].filter(({ length }) => length > 0).map(attempt);
    writing = Promise.all([writing, ...written]).then(() => {});
  }

  /** Writes records, and waits before the next write if it is not answered. Returns true if the storage has taken any. */
  async function attemptInTurn(keys: readonly string[]): Promise<boolean> {
    const { isTaken, late } = await attempt(keys);
    if (late.size > 0) openWrites.pause();
    return isTaken;
  }

  /** Writes records, and notes those that could not be written. */
  async function attempt(keys: readonly string[]): Promise<Attempt> {
    const before = unsaved.records.size;
    const result = await attemptWrite(keys, writePart);
    unsaved.note(result, before);
    return result;
  }

  /** Writes records as they are now. Throws if the storage refuses them, or does not answer in time. */
  async function writePart(part: Part): Promise<void> {
    const records = () => new Map(part.keys.map((key) => [key, recordOf(key)]));
    for (const key of part.keys) inFlight.add(key);
    try {
      const answer = (async () => storage.write(collection, records()))();
      openWrites.add(part, answer);
      await waitForStorage(
        client.clock,
        () => answer,
        () => takeLate(part),
      );
    } finally {
      for (const key of part.keys) inFlight.delete(key);
    }
    unsaved.written(part);
  }

  /** Notes that a late write has come to a good end, unless its records have changed, or are written again, since. */
  function takeLate(part: Part): void {
    const isLast = (key: string) => unsaved.records.get(key)?.late === part && !inFlight.has(key);
    unsaved.drop(part.keys.filter((key) => isLast(key) && !due.has(key)));
    if (openWrites.areAnswered()) void retry();
    onWritten?.();
  }
}

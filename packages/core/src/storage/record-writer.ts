import type { ClientEvent } from "../vocabulary/events.js";
import { storageBackoff } from "./recovery.js";
import type { RecordStorage } from "./storage.js";
import { type WaitingClient, waitForStorage } from "./wait.js";

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

/**
 * Reason why a record is unsaved. `storage`: nothing could be written; it goes with the next write. `record`: the
 * storage took others, but not this one; it is tried with growing waits, so that it costs the others nothing.
 */
type Reason = "storage" | "record";

/** A record that is unsaved. */
interface Unsaved {
  readonly reason: Reason;
  /** The last write of it, which may still come to a good end. */
  readonly write: object | undefined;
}

/** One attempt to write records, in as many parts as it takes. */
interface Attempt {
  readonly failed: Set<string>;
  /** Errors of the records that failed alone. */
  readonly refusals: Map<string, unknown>;
  /** Writes that were late, by the keys of their records. */
  readonly late: Map<string, object>;
  /** Error of the last part that failed. */
  error?: unknown;
  /** Failed writes that may still follow before the storage takes anything. */
  patience: number;
  isTaken: boolean;
  /** True when nothing more is tried. */
  isOver: boolean;
}

/** Most unsaved records that are tried at once, until the storage has taken one. */
const PROBE = 16;

/** Creates the writer of a collection. */
export function createRecordWriter(options: RecordWriterOptions): RecordWriter {
  const { client, storage, collection, recordOf, onFailure, onWritten, onUnsaved } = options;
  const due = new Set<string>();
  const unsaved = new Map<string, Unsaved>();
  let writing: Promise<void> = Promise.resolve();
  /** Set while something is unsaved. */
  let recovering: AbortController | undefined;
  /** Keys of the write that has not ended. */
  const inFlight = new Set<string>();
  let isLeaving = false;

  return {
    due,
    unsaved,
    mark: (key) => void due.add(key),
    unmark(key) {
      const before = unsaved.size;
      // a write that has begun may still come to its end: the next one has the change
      if (!inFlight.has(key) && !unsaved.get(key)?.write) due.delete(key);
      unsaved.delete(key);
      changed(before);
    },
    put(key) {
      due.add(key);
      return write();
    },
    write,
    leave,
  };

  function write(): Promise<void> {
    return due.size === 0 ? writing : flush(heldBy("storage", PROBE));
  }

  function heldBy(reason: Reason, most = Number.POSITIVE_INFINITY): string[] {
    return [...unsaved].flatMap(([key, held]) => (held.reason === reason ? key : [])).slice(0, most);
  }

  /** Writes what is due, with some of what is unsaved. After a success it writes all that waited for the storage. */
  function flush(others: readonly string[]): Promise<void> {
    writing = writing.then(async () => {
      const keys = new Set([...others, ...due]);
      due.clear();
      if (keys.size === 0 || !(await attempt([...keys]))) return;
      const rest = heldBy("storage");
      if (rest.length > 0) await attempt(rest);
      onWritten?.();
    });
    return writing;
  }

  function leave(): void {
    // the owner of this writer may listen for the end of the page, too
    const first = new Set([...(isLeaving ? [] : [...heldBy("storage"), ...inFlight]), ...due]);
    const refused = isLeaving ? [] : heldBy("record").filter((key) => !first.has(key));
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

  /** Writes records, and notes those that could not be written. Returns true if the storage has taken any. */
  async function attempt(keys: readonly string[]): Promise<boolean> {
    const before = unsaved.size;
    const current: Attempt = {
      failed: new Set(),
      refusals: new Map(),
      late: new Map(),
      // as many as it takes to find a record that can't be written, and to try some others
      patience: Math.ceil(Math.log2(keys.length + 1)) + 4,
      isTaken: false,
      isOver: false,
    };
    await put(keys, current);
    const { failed, refusals, late, isTaken, error } = current;
    if (before === 0 && failed.size > 0 && !isTaken) onFailure(error, [...failed]);
    for (const key of failed) {
      const isRefused = isTaken && refusals.has(key);
      const known = unsaved.get(key)?.reason;
      if (isRefused && known !== "record") onFailure(refusals.get(key), [key]);
      // the others are tried before it the next time
      if (refusals.has(key)) unsaved.delete(key);
      unsaved.set(key, { reason: isRefused ? "record" : (known ?? "storage"), write: late.get(key) });
    }
    changed(before);
    return isTaken;
  }

  /** Writes all records at once. If that fails, writes each half, down to the record that can't be written. */
  async function put(keys: readonly string[], current: Attempt): Promise<void> {
    if (current.isOver) return fail(keys, current);
    const write = () => storage.write(collection, new Map(keys.map((key) => [key, recordOf(key)])));
    const onLate = () => takeLate(keys, write);
    try {
      for (const key of keys) inFlight.add(key);
      const ended = waitForStorage(client.clock, write, onLate);
      await ended.finally(() => {
        for (const key of keys) inFlight.delete(key);
      });
      current.isTaken = true;
      for (const key of keys) unsaved.delete(key);
    } catch (error) {
      const isLate = (error as Error)?.name === "TimeoutError";
      current.error = error;
      if (isLate) for (const key of keys) current.late.set(key, write);
      current.patience -= 1;
      current.isOver = isLate || (!current.isTaken && current.patience === 0);
      const [first] = keys;
      if (keys.length > 1 && !current.isOver) {
        const half = Math.ceil(keys.length / 2);
        await put(keys.slice(0, half), current);
        await put(keys.slice(half), current);
      } else {
        fail(keys, current);
        if (keys.length === 1 && !isLate) current.refusals.set(first as string, error);
      }
    }
  }

  /** Notes that a late write has come to a good end, unless its records have changed since. */
  function takeLate(keys: readonly string[], write: object): void {
    const before = unsaved.size;
    for (const key of keys) if (unsaved.get(key)?.write === write && !due.has(key)) unsaved.delete(key);
    changed(before);
    onWritten?.();
  }

  function fail(keys: readonly string[], { failed }: Attempt): void {
    for (const key of keys) failed.add(key);
  }

  /** Begins or ends the recovery. */
  function changed(before: number): void {
    if (unsaved.size > 0 && !recovering) {
      recovering = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.("pagehide", leave, { signal: recovering.signal });
      void recover(recovering.signal);
    }
    if (unsaved.size === 0 && recovering) {
      recovering.abort(null);
      recovering = undefined;
      client.emit({ type: "storage-recovered" });
    }
    if (unsaved.size !== before) onUnsaved?.();
  }

  /** Tries what is unsaved again and again, with growing waits. */
  async function recover(signal: AbortSignal): Promise<void> {
    const backoff = storageBackoff(client);
    while (!signal.aborted) {
      const before = unsaved.size;
      await backoff.wait(undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await flush([...heldBy("storage", PROBE), ...heldBy("record", PROBE)]);
      if (unsaved.size < before) backoff.progress();
    }
  }
}

import type { RecordStorage, StorageLock } from "@sluice/core";

/** The storage that a contract tests, with options for its cases. */
export interface StorageContract {
  /**
   * Opens another instance of the storage over the same data, as another page, device or process does. May return the same
   * object. The data may have other records: the cases use unique names and remove their records.
   */
  readonly create: () => RecordStorage | Promise<RecordStorage>;
  /** Closes a storage of `create`, at the end of a case. */
  readonly close?: ((storage: RecordStorage) => unknown) | undefined;
  /**
   * False if `subscribe` does not report writes of other instances. Devices that share such a storage do not see each other's
   * changes before a reload, and may create branches of a chat.
   *
   * @default true
   */
  readonly isWatched?: boolean | undefined;
  /** Opens a storage that can't be reached, e.g. because cookies are off or its server is down. */
  readonly createUnreachable?: (() => RecordStorage | Promise<RecordStorage>) | undefined;
  /** Replaces a record by a text that is not JSON. */
  readonly damage?: ((collection: string, key: string) => unknown) | undefined;
  /**
   * Maximum time of one step in milliseconds, after which its case fails. Most test runners have a limit of 5 seconds:
   * raise it for a slower storage.
   *
   * @default 4000
   */
  readonly deadlineMs?: number | undefined;
}

/** Records and changes of a collection, by key. */
export type Records = ReadonlyMap<string, unknown>;

/** Context of a case. Each step has a deadline. Storages are closed and records removed after the case. */
export type CaseContext = Omit<ReturnType<typeof createContext>, "end">;

/** Cases by title. A case that does not apply returns the reason as text. */
export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<unknown>>>;

/** Runs a case and removes its records. */
export async function runCase(options: StorageContract, run: Cases[string]): Promise<unknown> {
  const { end, ...context } = createContext(options);
  try {
    return await run(context);
  } finally {
    await end();
  }
}

function createContext(options: StorageContract) {
  const opened: RecordStorage[] = [];
  const written = new Map<string, Set<string>>();
  const ends: (() => unknown)[] = [];
  return { options, open, createName, watch, awaitStep, end };

  async function end(): Promise<void> {
    for (const stop of ends) stop();
    // ignores failures, because the case itself reports a storage that does not write
    for (const [collection, keys] of written)
      for (const part of splitEntries([...keys].map((key) => [key, undefined] as const)))
        await awaitStep("the removal", async () => opened[0]?.write(collection, part)).catch(() => {});
    for (const storage of opened) await options.close?.(storage);
  }

  /** Opens another instance. */
  async function open(): Promise<RecordStorage> {
    const storage = await awaitStep("create", async () => options.create());
    opened.push(storage);
    return {
      ...createWriter(storage),
      read: (collection) => awaitStep("read", () => storage.read(collection)),
      subscribe: (collection, listener, onRefusal) => storage.subscribe(collection, listener, onRefusal),
      ...(storage.broadcast && {
        broadcast: (collection, changes) => storage.broadcast?.(collection, changes),
      }),
      ...(storage.clear && {
        clear: (collection) => awaitStep("clear", async () => storage.clear?.(collection)),
      }),
      ...(storage.lock && {
        lock: (name) => awaitStep("lock", async () => createLock(await storage.lock?.(name))),
      }),
    };
  }

  function createWriter(writer: Pick<RecordStorage, "write">): Pick<RecordStorage, "write"> {
    return {
      write(collection, changes) {
        const keys = written.get(collection) ?? new Set();
        written.set(collection, keys);
        for (const key of changes.keys()) keys.add(key);
        return awaitStep("write", () => writer.write(collection, changes));
      },
    };
  }

  function createLock(lock: StorageLock | undefined): StorageLock | undefined {
    if (!lock) return undefined;
    const release = () => awaitStep("release", () => lock.release());
    ends.push(() => void release().catch(() => {}));
    return { ...createWriter(lock), release };
  }

  function watch(storage: RecordStorage, collection: string) {
    /** Records after all reports so far; undefined for a removed record. */
    const seen = new Map<string, unknown>();
    const waiting = new Set<() => void>();
    let reports = 0;
    const stop = storage.subscribe(collection, (changes) => {
      reports += 1;
      for (const [key, record] of changes) seen.set(key, record);
      for (const look of waiting) look();
    });
    ends.push(stop);
    return { seen, reports: () => reports, waitFor, stop };

    /** Waits until the record of a key equals `record`. */
    async function waitFor(key: string, record: unknown): Promise<void> {
      const isThere = () => seen.has(key) && isSame(seen.get(key), record);
      const reported = () =>
        new Promise<void>((resolve) => {
          const look = () => void (isThere() && resolve());
          waiting.add(look);
          look();
        });
      await awaitStep(`the report of ${formatValue(key)} as ${formatValue(record)}`, reported);
    }
  }

  /** Waits for a step. @throws {Error} if it is late, or if the call throws synchronously */
  async function awaitStep<T>(what: string, step: () => Promise<T>): Promise<T> {
    const { deadlineMs = 4000 } = options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not end within ${deadlineMs} ms`)), deadlineMs);
    });
    try {
      return await Promise.race([begin(what, step), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Starts a step synchronously, because a caller may change its arguments afterwards. */
function begin<T>(what: string, step: () => Promise<T>): Promise<T> {
  try {
    return step();
  } catch (error) {
    throw new Error(`${what} threw, and has to reject: ${error}`);
  }
}

/** Creates the unique name of a collection. */
function createName(rest = ""): string {
  return `test-${crypto.randomUUID()}${rest}`;
}

/** Splits many changes into writes of at most `size` records. */
export function splitEntries(
  entries: readonly (readonly [key: string, record: unknown])[],
  size = 500,
): Map<string, unknown>[] {
  const starts = Array.from({ length: Math.ceil(entries.length / size) }, (_, nth) => nth * size);
  return starts.map((start) => new Map(entries.slice(start, start + size)));
}

export function createRecords(object: Readonly<Record<string, unknown>>): Map<string, unknown> {
  return new Map(Object.entries(object));
}

/** @throws {Error} if both differ; the order of records is ignored */
export function assertSame(found: unknown, expected: unknown, what: string): void {
  if (!isSame(found, expected))
    throw new Error(`${what}: ${formatValue(found)}, and not ${formatValue(expected)}`);
}

/** Waits for a rejection and returns its error. @throws {Error} if `work` resolves */
export async function expectRejection(work: Promise<unknown>, what: string): Promise<unknown> {
  return await work.then(
    () => {
      throw new Error(`${what} resolved, and has to reject`);
    },
    (error: unknown) => error,
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return formatValue(one, Number.POSITIVE_INFINITY) === formatValue(other, Number.POSITIVE_INFINITY);
}

/** Formats a value as JSON with sorted fields, and with values that JSON would omit. */
function formatValue(value: unknown, max = 300): string {
  const text = JSON.stringify(value, function (key, part: unknown) {
    const own: unknown = this[key];
    if (part instanceof Map) return { map: [...part].sort(([a], [b]) => (a < b ? -1 : 1)) };
    const hasJSON = ["string", "boolean", "object"].includes(typeof own) || Number.isFinite(own);
    if (!hasJSON || own instanceof Date) return [String(own)];
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

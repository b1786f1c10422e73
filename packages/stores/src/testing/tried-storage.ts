import type { RecordStorage, StorageLock } from "@sluice/core";
import type { StorageContract } from "./options.js";

/** Records and changes of a collection, by key. */
export type Records = ReadonlyMap<string, unknown>;

/** A collection that is watched. */
export interface Watched {
  /** Records as the reports so far leave them; undefined for a removed one. */
  readonly seen: ReadonlyMap<string, unknown>;
  /** Number of reports so far. */
  readonly reports: () => number;
  /** Waits until the record of a key is this one. */
  readonly until: (key: string, record: unknown) => Promise<void>;
  readonly stop: () => void;
}

/** The storage that a case tries: each step has a deadline, and what is opened and written is gone after the case. */
export interface Tried {
  readonly options: StorageContract;
  /** Opens one more instance. */
  readonly open: () => Promise<RecordStorage>;
  /** Name of a collection that nothing else has. */
  readonly name: (rest?: string) => string;
  readonly watch: (storage: RecordStorage, collection: string) => Watched;
  /** Waits for a step. @throws {Error} where it is late, or where the call throws */
  readonly inTime: <T>(what: string, step: () => Promise<T>) => Promise<T>;
}

/** Cases by their titles. A case that does not apply returns the reason, a text. */
export type Cases = Readonly<Record<string, (tried: Tried) => Promise<unknown>>>;

/** Runs a case, and removes what it wrote. */
export async function tried(options: StorageContract, run: Cases[string]): Promise<unknown> {
  const opened: RecordStorage[] = [];
  const written = new Map<string, Set<string>>();
  const ends: (() => unknown)[] = [];
  try {
    return await run({ options, open, name, watch, inTime });
  } finally {
    for (const end of ends) end();
    // the case says what is wrong with a storage that does not write
    for (const [collection, keys] of written)
      for (const part of inParts([...keys].map((key) => [key, undefined] as const)))
        await inTime("the removal", async () => opened[0]?.write(collection, part)).catch(() => {});
    for (const storage of opened) await options.close?.(storage);
  }

  async function open(): Promise<RecordStorage> {
    const storage = await inTime("create", async () => options.create());
    opened.push(storage);
    return {
      ...writerOf(storage),
      read: (collection) => inTime("read", () => storage.read(collection)),
      watch: (collection, listener, onRefusal) => storage.watch(collection, listener, onRefusal),
      ...(storage.pass && { pass: (collection, changes) => storage.pass?.(collection, changes) }),
      ...(storage.drop && {
        drop: (collection) => inTime("drop", async () => storage.drop?.(collection)),
      }),
      ...(storage.lock && {
        lock: (name) => inTime("lock", async () => lockOf(await storage.lock?.(name))),
      }),
    };
  }

  function writerOf(writer: Pick<RecordStorage, "write">): Pick<RecordStorage, "write"> {
    return {
      write(collection, changes) {
        const keys = written.get(collection) ?? new Set();
        written.set(collection, keys);
        for (const key of changes.keys()) keys.add(key);
        return inTime("write", () => writer.write(collection, changes));
      },
    };
  }

  function lockOf(lock: StorageLock | undefined): StorageLock | undefined {
    if (!lock) return undefined;
    const release = () => inTime("release", () => lock.release());
    ends.push(() => void release().catch(() => {}));
    return { ...writerOf(lock), release };
  }

  function watch(storage: RecordStorage, collection: string): Watched {
    const seen = new Map<string, unknown>();
    const waiting = new Set<() => void>();
    let reports = 0;
    const stop = storage.watch(collection, (changes) => {
      reports += 1;
      for (const [key, record] of changes) seen.set(key, record);
      for (const look of waiting) look();
    });
    ends.push(stop);
    return { seen, reports: () => reports, until, stop };

    async function until(key: string, record: unknown): Promise<void> {
      const isThere = () => seen.has(key) && isSame(seen.get(key), record);
      const reported = () =>
        new Promise<void>((resolve) => {
          const look = () => void (isThere() && resolve());
          waiting.add(look);
          look();
        });
      await inTime(`the report of ${shown(key)} as ${shown(record)}`, reported);
    }
  }

  async function inTime<T>(what: string, step: () => Promise<T>): Promise<T> {
    const { deadlineMs = 4000 } = options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not end within ${deadlineMs} ms`)), deadlineMs);
    });
    try {
      return await Promise.race([begun(what, step), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Begins a step at once: a caller may change what it has given. */
function begun<T>(what: string, step: () => Promise<T>): Promise<T> {
  try {
    return step();
  } catch (error) {
    throw new Error(`${what} threw, and has to reject: ${error}`);
  }
}

function name(rest = ""): string {
  return `test-${crypto.randomUUID()}${rest}`;
}

/** Changes in parts, as an app writes many. */
export function inParts(
  entries: readonly (readonly [key: string, record: unknown])[],
  size = 500,
): Map<string, unknown>[] {
  const starts = Array.from({ length: Math.ceil(entries.length / size) }, (_, nth) => nth * size);
  return starts.map((start) => new Map(entries.slice(start, start + size)));
}

export function recordsOf(object: Readonly<Record<string, unknown>>): Map<string, unknown> {
  return new Map(Object.entries(object));
}

/** @throws {Error} where both are not the same; the order of records does not count */
export function same(found: unknown, expected: unknown, what: string): void {
  if (!isSame(found, expected)) throw new Error(`${what}: ${shown(found)}, and not ${shown(expected)}`);
}

/** Waits for a rejection. @throws {Error} where there is none */
export async function refusalOf(work: Promise<unknown>, what: string): Promise<unknown> {
  return await work.then(
    () => {
      throw new Error(`${what} resolved, and has to reject`);
    },
    (error: unknown) => error,
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return shown(one, Number.POSITIVE_INFINITY) === shown(other, Number.POSITIVE_INFINITY);
}

/** A value as JSON, with its fields in order, and with what JSON would hide. */
function shown(value: unknown, most = 300): string {
  const text = JSON.stringify(value, function (key, part: unknown) {
    const own: unknown = this[key];
    if (part instanceof Map) return { map: [...part].sort(([a], [b]) => (a < b ? -1 : 1)) };
    const hasJSON = ["string", "boolean", "object"].includes(typeof own) || Number.isFinite(own);
    if (!hasJSON || own instanceof Date) return [String(own)];
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

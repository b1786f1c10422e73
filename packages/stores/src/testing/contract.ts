import type { RecordStorage } from "@sluice/core";
import { changeCases } from "./change-cases.js";
import { formatValue, isSame } from "./compare.js";
import { recordCases } from "./record-cases.js";

/** The storage that a contract tests, with options for its cases. */
export interface StorageContract {
  /**
   * Opens another instance of the storage over the same data, as another page, device or process does. May return the same
   * object. The data may have other records: the cases use unique names and remove their records.
   */
  readonly create: () => RecordStorage | Promise<RecordStorage>;
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
   * Maximum time of a case in milliseconds. Most test runners have a limit of 5 seconds: raise both for a slower storage.
   *
   * @default 4000
   */
  readonly deadlineMs?: number | undefined;
}

/** A case of a contract, for any test runner. */
export interface StorageCase {
  /** Title of the test: a sentence. */
  readonly title: string;
  /**
   * Runs the case. Rejects if the storage breaks the contract.
   *
   * @param context context that a runner passes to a test. A case that does not apply calls its `skip` with the reason
   * (Vitest, Node); without `skip` it ends without an error.
   */
  readonly run: (context?: unknown) => Promise<void>;
}

/** Two instances of the storage, and names that no other case uses. */
export type CaseContext = Awaited<ReturnType<typeof createContext>>;

/** Cases by title. A case that does not apply returns the reason as text. */
export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<unknown>>>;

/**
 * Returns the contract of `RecordStorage` as tests, for a custom storage. They work with every runner that has a function
 * of a title and a test: `test` of Vitest, Jest, Node or Bun, `Deno.test`.
 *
 * `broadcast`, `clear` and `lock` are tested if the storage has them. A case is skipped if it needs a missing option.
 *
 * @example
 * ```ts
 * import { storageTests } from "@sluice/stores/testing";
 * import { test } from "vitest";
 * import { openMyStorage } from "./my-storage.js"; // yours
 *
 * for (const { title, run } of storageTests({ create: () => openMyStorage() })) test(title, run);
 * ```
 */
export function storageTests(options: StorageContract): readonly StorageCase[] {
  return Object.entries({ ...recordCases, ...changeCases }).map(([title, check]) => ({
    title: `The storage ${title}`,
    // the default keeps `run.length` at 0; otherwise Jest and Bun would wait for a callback
    async run(context = undefined) {
      const reason = await runCase(options, check);
      if (typeof reason === "string" && isSkipping(context)) context.skip(reason);
    },
  }));
}

function isSkipping(context: unknown): context is { skip(reason: string): unknown } {
  return typeof (context as { readonly skip?: unknown } | undefined)?.skip === "function";
}

/** Runs a case, then removes its records. */
async function runCase(options: StorageContract, check: Cases[string]): Promise<unknown> {
  const { deadlineMs = 4000 } = options;
  const used: Used = { collections: new Set(), ends: [], waits: new Set() };
  const describeDelay = () => {
    const waits = [...used.waits].map((what) => `; it waited for ${what}`);
    return `the case did not end within ${deadlineMs} ms${waits.join("")}`;
  };
  try {
    return await endWithin(deadlineMs, async () => check(await createContext(options, used)), describeDelay);
  } finally {
    for (const end of used.ends) end();
    // ignores failures, because the case itself reports a storage that does not write
    await endWithin(deadlineMs, () => removeRecords(used), describeDelay).catch(() => {});
  }
}

/** What a case has opened, and has not finished. */
interface Used {
  /** The first storage that was opened. */
  storage?: RecordStorage;
  readonly collections: Set<string>;
  /** Called after the case. */
  readonly ends: (() => void)[];
  /** Descriptions of the reports that the case waits for. */
  readonly waits: Set<string>;
}

async function endWithin<T>(ms: number, act: () => Promise<T>, describeDelay: () => string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(describeDelay())), ms);
  });
  try {
    return await Promise.race([act(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function removeRecords({ storage, collections }: Used): Promise<void> {
  if (!storage) return;
  for (const collection of collections)
    for (const keys of splitList([...(await storage.read(collection)).keys()]))
      await storage.write(collection, new Map(keys.map((key) => [key, undefined])));
}

async function createContext(options: StorageContract, used: Used) {
  return {
    options,
    first: await open(),
    second: await open(),
    collection: createName(),
    open,
    createName,
    /** Calls a function after the case, even if the case was late. */
    callAtEnd: (end: () => void) => void used.ends.push(end),
    /** Removes the records of a collection after the case. */
    removeLater: (collection: string) => void used.collections.add(collection),
    watch,
  };

  /** Opens another instance. */
  async function open(): Promise<RecordStorage> {
    const storage = await options.create();
    used.storage ??= storage;
    return storage;
  }

  /** Creates the unique name of a collection, whose records are removed after the case. */
  function createName(rest = ""): string {
    const name = `test-${crypto.randomUUID()}${rest}`;
    used.collections.add(name);
    return name;
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
    used.ends.push(stop);
    return { seen, countReports: () => reports, waitFor, stop };

    /** Waits until the record of a key equals `record`. */
    async function waitFor(key: string, record: unknown): Promise<void> {
      const what = `the report of ${formatValue(key)} as ${formatValue(record)}`;
      used.waits.add(what);
      await new Promise<void>((resolve) => {
        const check = () => void (seen.has(key) && isSame(seen.get(key), record) && resolve());
        waiting.add(check);
        check();
      });
      used.waits.delete(what);
    }
  }
}

/** Splits a list into parts of at most 500 items, because a storage may limit the size of a write. */
export function splitList<Item>(items: readonly Item[]): Item[][] {
  const size = 500;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, nth) =>
    items.slice(nth * size, (nth + 1) * size),
  );
}

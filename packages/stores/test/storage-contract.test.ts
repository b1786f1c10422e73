import type { RecordStorage } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { storageTests } from "@sluice/stores/testing";
import { expect, test } from "vitest";

type StorageContract = Parameters<typeof storageTests>[0];

/* The contract detects broken storages. */

type Change = (storage: RecordStorage) => Partial<RecordStorage>;
const nothing = () => {};
const silence = new Promise<never>(nothing);

/** Runs all cases on a changed storage in memory, and returns the errors by title. */
async function createBroken(change: Change, more: Partial<StorageContract> = {}) {
  const kept = memoryStorage();
  const create = () => ({ ...kept, ...change(kept) });
  // most mistakes are detected by a missing change event
  const cases = storageTests({ create, deadlineMs: 50, ...more });
  const ended = await Promise.allSettled(cases.map(({ run }) => run()));
  return Object.fromEntries(
    ended.flatMap((end, nth) => (end.status === "rejected" ? [[cases[nth]?.title, String(end.reason)]] : [])),
  );
}

/** Changes the records of each write. */
const writing = (change: (changes: Map<string, unknown>) => Map<string, unknown>): Change => {
  return (kept) => ({ write: async (name, changes) => kept.write(name, change(new Map(changes))) });
};

/** Creates a storage whose collections are plain objects, as in a first draft. */
function createDrafted(values: "live" | "copied"): Change {
  const collections: Record<string, Record<string, unknown>> = {};
  return () => ({
    read: async (name) => new Map(Object.entries(collections[name] ?? {})),
    write: async (name, changes) => {
      collections[name] ??= {};
      for (const [key, record] of changes)
        if (record === undefined) delete collections[name][key];
        else collections[name][key] = values === "live" ? record : JSON.parse(JSON.stringify(record));
    },
  });
}

const allListeners = new Set<(changes: ReadonlyMap<string, unknown>) => void>();
const stopsOf = new Map<string, Set<() => void>>();

const mutants: [mistake: string, noticed: string, change: Change, more?: Partial<StorageContract>][] = [
  [
    "forgets the last record of a write",
    "changes and removes the records",
    writing((changes) => new Map([...changes].slice(0, changes.size > 1 ? -1 : 1))),
  ],
  [
    "keeps what is removed",
    "changes and removes the records",
    writing((changes) => new Map([...changes].filter(([, record]) => record !== undefined))),
  ],
  [
    "takes null for a removal",
    "reads each value as its JSON",
    writing((changes) => new Map([...changes].map(([key, record]) => [key, record ?? undefined]))),
  ],
  [
    "replaces a collection by each write",
    "changes and removes the records",
    (kept) => ({
      async write(name, changes) {
        const gone = [...(await kept.read(name)).keys()].map((key) => [key, undefined] as const);
        await kept.write(name, new Map([...gone, ...changes]));
      },
    }),
  ],
  [
    "keeps a collection in one record, which it reads and writes",
    "loses nothing where several instances write",
    (kept) => {
      const read = async (name: string) =>
        new Map((await kept.read(name)).get("all") as [string, unknown][] | undefined);
      return {
        read,
        async write(name, changes) {
          const all = await read(name);
          for (const [key, record] of changes) all.set(key, record);
          await kept.write(name, new Map([["all", [...all]]]));
        },
      };
    },
  ],
  [
    "writes one record after the other",
    "shows all records of a write or none",
    (kept) => ({
      async write(name, changes) {
        for (const change of changes) await kept.write(name, new Map([change]));
      },
    }),
  ],
  [
    "stops at a record without JSON, and keeps those before it",
    "rejects a record without JSON",
    (kept) => ({
      async write(name, changes) {
        await Promise.all([...changes].map((change) => kept.write(name, new Map([change]))));
      },
    }),
  ],
  ["takes an object for a map, and keeps live values", "keeps a record as it was", createDrafted("live")],
  ["has no record with the name of a prototype", "takes any text as a key", createDrafted("copied")],
  [
    "takes A for a",
    "takes any text as a key",
    (kept) => ({
      read: (name) => kept.read(name.toLowerCase()),
      write: (name, changes) => kept.write(name.toLowerCase(), changes),
    }),
  ],
  [
    "reads one page of 1,000",
    "reads 10,000 records",
    (kept) => ({ read: async (name) => new Map([...(await kept.read(name))].slice(0, 1000)) }),
  ],
  [
    "keeps an earlier write that is late",
    "keeps the writes of one instance in the order",
    (kept) => {
      let nth = 0;
      return {
        async write(name, changes) {
          const copy = new Map(changes);
          nth += 1;
          if (nth % 2 === 1) for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
          await kept.write(name, copy);
        },
      };
    },
  ],
  [
    "throws instead of rejecting",
    "rejects a record without JSON",
    (kept) => ({
      write(name, changes) {
        for (const record of changes.values()) JSON.stringify(record);
        return kept.write(name, changes);
      },
    }),
  ],
  ["never answers a read", "gives each instance what one of them wrote", () => ({ read: () => silence })],
  [
    "reads nothing beside a damaged record",
    "leaves out a damaged record",
    (kept) => ({
      async read(name) {
        const read = await kept.read(name);
        if ([...read.values()].includes("damaged")) throw new SyntaxError("Unexpected token");
        return read;
      },
    }),
    { damage: nothing },
  ],
  [
    "hangs without its server",
    "rejects in time where it can't be reached",
    () => ({}),
    { createUnreachable: () => ({ read: () => silence, write: () => silence, watch: () => nothing }) },
  ],
  [
    "throws from a watch without its server",
    "rejects in time where it can't be reached",
    () => ({}),
    {
      createUnreachable: () => ({
        read: () => Promise.reject(new Error("away")),
        write: () => Promise.reject(new Error("away")),
        watch() {
          throw new Error("away");
        },
      }),
    },
  ],
  ["reports nothing", "reports what another instance writes", () => ({ watch: () => nothing })],
  [
    "reports no removal",
    "reports what another instance writes",
    (kept) => ({
      watch: (name, listener) =>
        kept.watch(name, (changes) =>
          listener(new Map([...changes].filter(([, record]) => record !== undefined))),
        ),
    }),
  ],
  [
    "reports null for a removed record",
    "reports what another instance writes",
    (kept) => ({
      watch: (name, listener) =>
        kept.watch(name, (changes) =>
          listener(new Map([...changes].map(([key, record]) => [key, record ?? null]))),
        ),
    }),
  ],
  [
    "reports each record once",
    "reports the writes of one instance in their order",
    (kept) => ({
      watch(name, listener) {
        const known = new Set<string>();
        return kept.watch(name, (changes) => {
          listener(new Map([...changes].filter(([key]) => !known.has(key))));
          for (const key of changes.keys()) known.add(key);
        });
      },
    }),
  ],
  [
    "reports all collections",
    "reports what another instance writes",
    (kept) => ({
      async write(name, changes) {
        await kept.write(name, changes);
        for (const listener of allListeners) listener(changes);
      },
      watch(_, listener) {
        allListeners.add(listener);
        return () => void allListeners.delete(listener);
      },
    }),
  ],
  [
    "reports what it has refused",
    "reports nothing about a rejected write",
    (kept) => ({
      async write(name, changes) {
        const taken = [...changes].filter(([, record]) => typeof record !== "bigint");
        await kept.write(name, new Map(taken));
        if (taken.length < changes.size) throw new TypeError("no JSON");
      },
    }),
  ],
  [
    "goes on after the end of a watch",
    "ends the watch that is ended",
    (kept) => ({
      watch(name, listener) {
        kept.watch(name, listener);
        return nothing;
      },
    }),
  ],
  [
    "ends all watches with one",
    "ends the watch that is ended",
    (kept) => ({
      watch(name, listener) {
        const stop = kept.watch(name, listener);
        const stops = stopsOf.get(name) ?? new Set();
        stopsOf.set(name, stops.add(stop));
        return () => {
          for (const each of stops) each();
        };
      },
    }),
  ],
  ["passes nothing on", "passes records to the watchers", () => ({ pass: nothing })],
  [
    "keeps what is passed",
    "passes records to the watchers",
    (kept) => ({ pass: (name, changes) => void kept.write(name, changes) }),
  ],
  [
    "drops what begins with the same letters",
    "drops a collection with all below it",
    (kept) => ({
      drop: async (name) => {
        await kept.drop?.(name);
        await kept.drop?.(`${name}s`);
      },
    }),
  ],
  [
    "drops a collection without those below it",
    "drops a collection with all below it",
    (kept) => ({
      async drop(name) {
        const keys = [...(await kept.read(name)).keys()];
        await kept.write(name, new Map(keys.map((key) => [key, undefined])));
      },
    }),
  ],
  [
    "gives a lock to all",
    "gives a lock to one of those",
    (kept) => ({ lock: async () => ({ write: kept.write, release: async () => {} }) }),
  ],
  [
    "has one lock for all names",
    "gives a lock to one of those",
    (kept) => ({ lock: async () => kept.lock?.("the lock") }),
  ],
  [
    "never gives a lock back",
    "gives a lock to one of those",
    (kept) => ({
      async lock(name) {
        const lock = await kept.lock?.(name);
        return lock && { write: (...args) => lock.write(...args), release: async () => {} };
      },
    }),
  ],
  [
    "writes by a lock that another instance has",
    "writes by a lock while it is held",
    (kept) => ({
      async lock(name) {
        const lock = await kept.lock?.(name);
        return lock && { write: kept.write, release: () => lock.release() };
      },
    }),
  ],
  [
    "keeps the lock of a page that has crashed",
    "ends the lock of an instance",
    () => ({}),
    { crash: nothing },
  ],
];
test.each(mutants)("The contract notices a storage that %s", async (_, noticed, change, more) => {
  const errors = await createBroken(change, more);
  expect(Object.keys(errors)).toContainEqual(expect.stringContaining(noticed));
});

test("The contract accepts a storage that releases the locks of a crashed instance", async () => {
  const kept = memoryStorage();
  const held = new Map<RecordStorage, (() => Promise<void>)[]>();
  function create(): RecordStorage {
    const instance: RecordStorage = {
      ...kept,
      async lock(name) {
        const lock = await kept.lock?.(name);
        if (lock) held.set(instance, [...(held.get(instance) ?? []), () => lock.release()]);
        return lock;
      },
    };
    return instance;
  }
  const crash = async (instance: RecordStorage) => {
    for (const release of held.get(instance) ?? []) await release();
  };
  const [crashed] = storageTests({ create, crash }).filter(({ title }) => title.includes("has crashed"));
  await crashed?.run();
  expect(held.size).toBe(2);
});

test("A case has no parameter, so that Jest and Bun do not wait for a callback", () => {
  for (const { run } of storageTests({ create: memoryStorage })) expect(run).toHaveLength(0);
});

test("A case that does not apply is skipped with its reason if the runner can skip", async () => {
  const { read, write } = memoryStorage();
  const create = (): RecordStorage => ({ read, write, watch: () => nothing });

  const reasons: string[] = [];
  const skip = (reason: string) => void reasons.push(reason);
  for (const { run } of storageTests({ create, isWatched: false, deadlineMs: 300 })) await run({ skip });
  expect(new Set(reasons)).toEqual(
    new Set([
      "the option `damage` is not given",
      "the option `createUnreachable` is not given",
      "`isWatched` is false: the storage reports nothing of other instances",
      "the storage has no `pass`",
      "the storage has no `drop`",
      "the storage has no `lock`",
    ]),
  );
});

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
async function runOnBroken(change: Change, more: Partial<StorageContract> = {}) {
  const inner = memoryStorage();
  const create = () => ({ ...inner, ...change(inner) });
  // most mistakes are detected by a missing change event
  const cases = storageTests({ create, deadlineMs: 100, ...more });
  const ended = await Promise.allSettled(cases.map(({ run }) => run()));
  return Object.fromEntries(
    ended.flatMap((end, nth) => (end.status === "rejected" ? [[cases[nth]?.title, String(end.reason)]] : [])),
  );
}

/** Changes the records of each write. */
const writing = (change: (changes: Map<string, unknown>) => Map<string, unknown>): Change => {
  return (inner) => ({ write: async (name, changes) => inner.write(name, change(new Map(changes))) });
};

/** Creates a storage whose collections are plain objects, as in a first draft. */
function createObjectStorage(values: "live" | "copied"): Change {
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
const stopsByName = new Map<string, Set<() => void>>();

const mutants: [mistake: string, failing: string, change: Change, more?: Partial<StorageContract>][] = [
  [
    "forgets the last record of a write",
    "changes and removes the records",
    writing((changes) => new Map([...changes].slice(0, changes.size > 1 ? -1 : 1))),
  ],
  [
    "does not remove records",
    "changes and removes the records",
    writing((changes) => new Map([...changes].filter(([, record]) => record !== undefined))),
  ],
  [
    "confuses null with a removal",
    "reads each value as its JSON",
    writing((changes) => new Map([...changes].map(([key, record]) => [key, record ?? undefined]))),
  ],
  [
    "replaces a collection with each write",
    "changes and removes the records",
    (inner) => ({
      async write(name, changes) {
        const gone = [...(await inner.read(name)).keys()].map((key) => [key, undefined] as const);
        await inner.write(name, new Map([...gone, ...changes]));
      },
    }),
  ],
  [
    "stores a collection in one record, which it reads and writes",
    "loses no record if several instances write",
    (inner) => {
      const read = async (name: string) =>
        new Map((await inner.read(name)).get("all") as [string, unknown][] | undefined);
      return {
        read,
        async write(name, changes) {
          const all = await read(name);
          for (const [key, record] of changes) all.set(key, record);
          await inner.write(name, new Map([["all", [...all]]]));
        },
      };
    },
  ],
  [
    "writes its records one after the other",
    "shows all records of a write or none",
    (inner) => ({
      async write(name, changes) {
        for (const change of changes) await inner.write(name, new Map([change]));
      },
    }),
  ],
  [
    "stops at a record without JSON, and stores the records before it",
    "rejects a record without JSON",
    (inner) => ({
      async write(name, changes) {
        await Promise.all([...changes].map((change) => inner.write(name, new Map([change]))));
      },
    }),
  ],
  ["stores objects instead of copies", "stores a record as it was", createObjectStorage("live")],
  [
    "loses records with names of Object.prototype",
    "accepts any text as a key",
    createObjectStorage("copied"),
  ],
  [
    "ignores the case of names",
    "accepts any text as a key",
    (inner) => ({
      read: (name) => inner.read(name.toLowerCase()),
      write: (name, changes) => inner.write(name.toLowerCase(), changes),
    }),
  ],
  [
    "reads only a page of 1,000 records",
    "reads 10,000 records",
    (inner) => ({ read: async (name) => new Map([...(await inner.read(name))].slice(0, 1000)) }),
  ],
  [
    "overwrites a record with an earlier write",
    "applies the writes of one instance in the order",
    (inner) => {
      let nth = 0;
      return {
        async write(name, changes) {
          const copy = new Map(changes);
          nth += 1;
          if (nth % 2 === 1) for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
          await inner.write(name, copy);
        },
      };
    },
  ],
  [
    "throws instead of rejecting",
    "rejects a record without JSON",
    (inner) => ({
      write(name, changes) {
        for (const record of changes.values()) JSON.stringify(record);
        return inner.write(name, changes);
      },
    }),
  ],
  [
    "never ends a read",
    "returns the records of a collection to every instance",
    () => ({ read: () => silence }),
  ],
  [
    "rejects because of one damaged record",
    "ignores a damaged record",
    (inner) => ({
      async read(name) {
        const read = await inner.read(name);
        if ([...read.values()].includes("damaged")) throw new SyntaxError("Unexpected token");
        return read;
      },
    }),
    { damage: nothing },
  ],
  [
    "hangs if its server is down",
    "rejects in time if it can't be reached",
    () => ({}),
    { createUnreachable: () => ({ read: () => silence, write: () => silence, subscribe: () => nothing }) },
  ],
  [
    "throws from watch if its server is down",
    "rejects in time if it can't be reached",
    () => ({}),
    {
      createUnreachable: () => ({
        read: () => Promise.reject(new Error("away")),
        write: () => Promise.reject(new Error("away")),
        subscribe() {
          throw new Error("away");
        },
      }),
    },
  ],
  ["reports nothing", "reports writes and removals of other instances", () => ({ subscribe: () => nothing })],
  [
    "reports no removal",
    "reports writes and removals of other instances",
    (inner) => ({
      subscribe: (name, listener) =>
        inner.subscribe(name, (changes) =>
          listener(new Map([...changes].filter(([, record]) => record !== undefined))),
        ),
    }),
  ],
  [
    "reports null for a removed record",
    "reports writes and removals of other instances",
    (inner) => ({
      subscribe: (name, listener) =>
        inner.subscribe(name, (changes) =>
          listener(new Map([...changes].map(([key, record]) => [key, record ?? null]))),
        ),
    }),
  ],
  [
    "reports each record once",
    "reports the writes of one instance in their order",
    (inner) => ({
      subscribe(name, listener) {
        const known = new Set<string>();
        return inner.subscribe(name, (changes) => {
          listener(new Map([...changes].filter(([key]) => !known.has(key))));
          for (const key of changes.keys()) known.add(key);
        });
      },
    }),
  ],
  [
    "reports all collections",
    "reports writes and removals of other instances",
    (inner) => ({
      async write(name, changes) {
        await inner.write(name, changes);
        for (const listener of allListeners) listener(changes);
      },
      subscribe(_, listener) {
        allListeners.add(listener);
        return () => void allListeners.delete(listener);
      },
    }),
  ],
  [
    "reports a rejected write",
    "reports nothing about a rejected write",
    (inner) => ({
      async write(name, changes) {
        const accepted = [...changes].filter(([, record]) => typeof record !== "bigint");
        await inner.write(name, new Map(accepted));
        if (accepted.length < changes.size) throw new TypeError("no JSON");
      },
    }),
  ],
  [
    "reports after the end of a watch",
    "ends only the watch that is stopped",
    (inner) => ({
      subscribe(name, listener) {
        inner.subscribe(name, listener);
        return nothing;
      },
    }),
  ],
  [
    "ends all watches when one ends",
    "ends only the watch that is stopped",
    (inner) => ({
      subscribe(name, listener) {
        const stop = inner.subscribe(name, listener);
        const stops = stopsByName.get(name) ?? new Set();
        stopsByName.set(name, stops.add(stop));
        return () => {
          for (const each of stops) each();
        };
      },
    }),
  ],
  ["does not broadcast records", "broadcasts records to the subscribers", () => ({ broadcast: nothing })],
  [
    "stores the records that it broadcasts",
    "broadcasts records to the subscribers",
    (inner) => ({ broadcast: (name, changes) => void inner.write(name, changes) }),
  ],
  [
    "clears collections with the same prefix",
    "clears a collection and the collections below it",
    (inner) => ({
      clear: async (name) => {
        await inner.clear?.(name);
        await inner.clear?.(`${name}s`);
      },
    }),
  ],
  [
    "clears a collection without the collections below it",
    "clears a collection and the collections below it",
    (inner) => ({
      async clear(name) {
        const keys = [...(await inner.read(name)).keys()];
        await inner.write(name, new Map(keys.map((key) => [key, undefined])));
      },
    }),
  ],
  [
    "gives a lock to every instance",
    "gives a lock to one of several instances",
    (inner) => ({ lock: async () => ({ write: inner.write, release: async () => {} }) }),
  ],
  [
    "has one lock for all names",
    "gives a lock to one of several instances",
    (inner) => ({ lock: async () => inner.lock?.("the lock") }),
  ],
  [
    "never releases a lock",
    "gives a lock to one of several instances",
    (inner) => ({
      async lock(name) {
        const lock = await inner.lock?.(name);
        return lock && { write: (...args) => lock.write(...args), release: async () => {} };
      },
    }),
  ],
  [
    "writes through a lock that another instance holds",
    "writes through a lock while it is held",
    (inner) => ({
      async lock(name) {
        const lock = await inner.lock?.(name);
        return lock && { write: inner.write, release: () => lock.release() };
      },
    }),
  ],
];
test.each(mutants)("The contract rejects a storage that %s", async (_, failing, change, more) => {
  const errors = await runOnBroken(change, more);
  expect(Object.keys(errors)).toContainEqual(expect.stringContaining(failing));
});

test("A case has no parameter, so that Jest and Bun do not wait for a callback", () => {
  for (const { run } of storageTests({ create: memoryStorage })) expect(run).toHaveLength(0);
});

test("A case that does not apply is skipped with its reason if the runner can skip", async () => {
  const { read, write } = memoryStorage();
  const create = (): RecordStorage => ({ read, write, subscribe: () => nothing });

  const reasons: string[] = [];
  const skip = (reason: string) => void reasons.push(reason);
  for (const { run } of storageTests({ create, isWatched: false })) await run({ skip });
  expect(new Set(reasons)).toEqual(
    new Set([
      "the option `damage` is not given",
      "the option `createUnreachable` is not given",
      "`isWatched` is false: the storage reports nothing of other instances",
      "the storage has no `broadcast`",
      "the storage has no `clear`",
      "the storage has no `lock`",
    ]),
  );
});

import type { RecordStorage } from "@sluice/core";
import { type Cases, recordsOf, refusalOf, same, type Tried } from "./tried-storage.js";

/** Time between two records that are passed, as a chat passes an answer, in milliseconds. */
const PASS_MS = 100;

/** Cases of the functions that a storage may leave out. */
export const optionalCases: Cases = {
  "passes records to the watchers of other instances, and keeps none": having(
    "pass",
    async ({ open, name, watch }, mine) => {
      const [yours, collection] = [await open(), name()];
      const watching = watch(yours, collection);
      // it may lose some
      const passing = setInterval(() => mine.pass?.(collection, recordsOf({ a: { text: "Hel" } })), PASS_MS);
      await watching.until("a", { text: "Hel" }).finally(() => clearInterval(passing));
      for (const storage of [mine, yours]) same(await storage.read(collection), new Map(), "what is kept");
    },
  ),
  "drops a collection with all below it, and no other one": having("drop", async ({ open, name }, mine) => {
    const [yours, collection] = [await open(), name("_")];
    const below = ["", "/", "/a", "/a/b"].map((rest) => collection + rest);
    const beside = ["s", "0", "-/a", ".", "%"].map((rest) => collection + rest);
    // a pattern of SQL would take it for the same
    beside.push(`${collection.slice(0, -1)}x/a`, collection.toUpperCase(), `/${collection}`);
    for (const each of [...below, ...beside]) await mine.write(each, recordsOf({ a: each, b: each }));
    await mine.drop?.(collection);
    for (const each of below) same(await yours.read(each), new Map(), `records of ${each}`);
    for (const each of beside) same((await yours.read(each)).size, 2, `records of ${each}`);
    await mine.drop?.(collection);
    await yours.write(collection, recordsOf({ a: "again" }));
    same(await mine.read(collection), recordsOf({ a: "again" }), "records after the drop");
  }),
  "reports each dropped record as removed": having("drop", async ({ open, name, watch, options }, mine) => {
    if (options.isWatched === false) return "`isWatched` is false";
    const [yours, collection] = [await open(), name()];
    await mine.write(`${collection}/a`, recordsOf({ one: 1, other: 1 }));
    const watching = watch(yours, `${collection}/a`);
    await mine.drop?.(collection);
    await Promise.all([watching.until("one", undefined), watching.until("other", undefined)]);
  }),
  "gives a lock to one of those that want it at once, by name": having(
    "lock",
    async ({ open, name }, mine) => {
      const all = [mine, await open(), await open()];
      const [one, other] = [name(), name()];
      const locks = await Promise.all(all.map((storage) => storage.lock?.(one)));
      same(locks.filter((lock) => lock).length, 1, "the number of holders");
      for (const storage of all) same(await storage.lock?.(one), undefined, "a lock that is held");
      same((await mine.lock?.(other)) !== undefined, true, "the lock of another name");
      await locks.find((lock) => lock)?.release();
      same((await all[2]?.lock?.(one)) !== undefined, true, "the lock after its release");
    },
  ),
  "writes by a lock while it is held, and not after another instance has it": having(
    "lock",
    async ({ open, name }, mine) => {
      const [yours, lockName, collection] = [await open(), name(), name()];
      const lock = await mine.lock?.(lockName);
      await lock?.write(collection, recordsOf({ a: "mine" }));
      same(await yours.read(collection), recordsOf({ a: "mine" }), "the record");
      await lock?.release();
      await lock?.release();
      const next = await yours.lock?.(lockName);
      await next?.write(collection, recordsOf({ a: "yours" }));
      await refusalOf(Promise.resolve(lock?.write(collection, recordsOf({ a: "late" }))), "a late write");
      same(await yours.read(collection), recordsOf({ a: "yours" }), "the record of the holder");
    },
  ),
  "ends the lock of an instance that has crashed": having("lock", async ({ name, options, inTime, open }) => {
    const { create, crash } = options;
    if (!crash) return "the option `crash` is not given";
    const [lockName, yours] = [name(), await open()];
    const mine = await create();
    same((await inTime("lock", async () => mine.lock?.(lockName))) !== undefined, true, "the lock");
    same(await yours.lock?.(lockName), undefined, "the lock that is held");
    await crash(mine);
    same((await yours.lock?.(lockName)) !== undefined, true, "the lock after the crash");
  }),
};

/** A case that is skipped where the storage has no such function. */
function having(
  part: "pass" | "drop" | "lock",
  check: (tried: Tried, storage: RecordStorage) => Promise<unknown>,
): Cases[string] {
  return async (tried) => {
    const storage = await tried.open();
    return storage[part] ? await check(tried, storage) : `the storage has no \`${part}\``;
  };
}

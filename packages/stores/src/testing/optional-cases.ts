import type { RecordStorage } from "@sluice/core";
import { assertSame, type CaseContext, type Cases, createRecords, expectRejection } from "./case-context.js";

/** Time between two broadcast records, as in a chat with a response in flight, in milliseconds. */
const PASS_MS = 100;

/** Cases of the optional functions of a storage. */
export const optionalCases: Cases = {
  "passes records to the watchers of other instances, and keeps none": requireMethod(
    "pass",
    async ({ open, name, watch }, mine) => {
      const [yours, collection] = [await open(), name()];
      const watching = watch(yours, collection);
      // repeated, because `pass` may lose records
      const passing = setInterval(
        () => mine.pass?.(collection, createRecords({ a: { text: "Hel" } })),
        PASS_MS,
      );
      await watching.until("a", { text: "Hel" }).finally(() => clearInterval(passing));
      for (const storage of [mine, yours])
        assertSame(await storage.read(collection), new Map(), "what is kept");
    },
  ),
  "drops a collection with all below it, and no other one": requireMethod(
    "drop",
    async ({ open, name }, mine) => {
      const [yours, collection] = [await open(), name("_")];
      const below = ["", "/", "/a", "/a/b"].map((rest) => collection + rest);
      const beside = ["s", "0", "-/a", ".", "%"].map((rest) => collection + rest);
      // names that an SQL pattern would match as well
      beside.push(`${collection.slice(0, -1)}x/a`, collection.toUpperCase(), `/${collection}`);
      for (const each of [...below, ...beside]) await mine.write(each, createRecords({ a: each, b: each }));
      await mine.drop?.(collection);
      for (const each of below) assertSame(await yours.read(each), new Map(), `records of ${each}`);
      for (const each of beside) assertSame((await yours.read(each)).size, 2, `records of ${each}`);
      await mine.drop?.(collection);
      await yours.write(collection, createRecords({ a: "again" }));
      assertSame(await mine.read(collection), createRecords({ a: "again" }), "records after the drop");
    },
  ),
  "reports each dropped record as removed": requireMethod(
    "drop",
    async ({ open, name, watch, options }, mine) => {
      if (options.isWatched === false) return "`isWatched` is false";
      const [yours, collection] = [await open(), name()];
      await mine.write(`${collection}/a`, createRecords({ one: 1, other: 1 }));
      const watching = watch(yours, `${collection}/a`);
      await mine.drop?.(collection);
      await Promise.all([watching.until("one", undefined), watching.until("other", undefined)]);
    },
  ),
  "gives a lock to one of those that want it at once, by name": requireMethod(
    "lock",
    async ({ open, name }, mine) => {
      const all = [mine, await open(), await open()];
      const [one, other] = [name(), name()];
      const locks = await Promise.all(all.map((storage) => storage.lock?.(one)));
      assertSame(locks.filter((lock) => lock).length, 1, "the number of holders");
      for (const storage of all) assertSame(await storage.lock?.(one), undefined, "a lock that is held");
      assertSame((await mine.lock?.(other)) !== undefined, true, "the lock of another name");
      await locks.find((lock) => lock)?.release();
      assertSame((await all[2]?.lock?.(one)) !== undefined, true, "the lock after its release");
    },
  ),
  "writes by a lock while it is held, and not after another instance has it": requireMethod(
    "lock",
    async ({ open, name }, mine) => {
      const [yours, lockName, collection] = [await open(), name(), name()];
      const lock = await mine.lock?.(lockName);
      await lock?.write(collection, createRecords({ a: "mine" }));
      assertSame(await yours.read(collection), createRecords({ a: "mine" }), "the record");
      await lock?.release();
      await lock?.release();
      const next = await yours.lock?.(lockName);
      await next?.write(collection, createRecords({ a: "yours" }));
      await expectRejection(
        Promise.resolve(lock?.write(collection, createRecords({ a: "late" }))),
        "a late write",
      );
      assertSame(await yours.read(collection), createRecords({ a: "yours" }), "the record of the holder");
    },
  ),
  "ends the lock of an instance that has crashed": requireMethod(
    "lock",
    async ({ name, options, inTime, open }) => {
      const { create, crash } = options;
      if (!crash) return "the option `crash` is not given";
      const [lockName, yours] = [name(), await open()];
      const mine = await create();
      assertSame((await inTime("lock", async () => mine.lock?.(lockName))) !== undefined, true, "the lock");
      assertSame(await yours.lock?.(lockName), undefined, "the lock that is held");
      await crash(mine);
      assertSame((await yours.lock?.(lockName)) !== undefined, true, "the lock after the crash");
    },
  ),
};

/** Creates a case that is skipped if the storage does not have the method. */
function requireMethod(
  method: "pass" | "drop" | "lock",
  check: (context: CaseContext, storage: RecordStorage) => Promise<unknown>,
): Cases[string] {
  return async (context) => {
    const storage = await context.open();
    return storage[method] ? await check(context, storage) : `the storage has no \`${method}\``;
  };
}

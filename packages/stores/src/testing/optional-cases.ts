import type { RecordStorage } from "@sluice/core";
import { assertSame, type CaseContext, type Cases, createRecords, expectRejection } from "./case-context.js";

/** Time between two broadcast records, as in a chat with a response in flight, in milliseconds. */
const PASS_MS = 100;

/** Cases of the optional functions of a storage. */
export const optionalCases: Cases = {
  "broadcasts records to the subscribers of other instances, and stores none": requireMethod(
    "broadcast",
    async ({ open, createName, watch }, first) => {
      const [second, collection] = [await open(), createName()];
      const watching = watch(second, collection);
      // repeated, because `broadcast` may lose records
      const broadcasting = setInterval(
        () => first.broadcast?.(collection, createRecords({ a: { text: "Hel" } })),
        PASS_MS,
      );
      await watching.waitFor("a", { text: "Hel" }).finally(() => clearInterval(broadcasting));
      for (const storage of [first, second])
        assertSame(await storage.read(collection), new Map(), "the stored records");
    },
  ),
  "clears a collection and the collections below it, and no others": requireMethod(
    "clear",
    async ({ open, createName }, first) => {
      const [second, collection] = [await open(), createName("_")];
      const below = ["", "/", "/a", "/a/b"].map((rest) => collection + rest);
      const beside = ["s", "0", "-/a", ".", "%"].map((rest) => collection + rest);
      // names that an SQL pattern would match as well
      beside.push(`${collection.slice(0, -1)}x/a`, collection.toUpperCase(), `/${collection}`);
      for (const each of [...below, ...beside]) await first.write(each, createRecords({ a: each, b: each }));
      await first.clear?.(collection);
      for (const each of below) assertSame(await second.read(each), new Map(), `records of ${each}`);
      for (const each of beside) assertSame((await second.read(each)).size, 2, `records of ${each}`);
      await first.clear?.(collection);
      await second.write(collection, createRecords({ a: "again" }));
      assertSame(await first.read(collection), createRecords({ a: "again" }), "records after the clearing");
    },
  ),
  "reports each cleared record as removed": requireMethod(
    "clear",
    async ({ open, createName, watch, options }, first) => {
      if (options.isWatched === false) return "`isWatched` is false";
      const [second, collection] = [await open(), createName()];
      await first.write(`${collection}/a`, createRecords({ one: 1, other: 1 }));
      const watching = watch(second, `${collection}/a`);
      await first.clear?.(collection);
      await Promise.all([watching.waitFor("one", undefined), watching.waitFor("other", undefined)]);
    },
  ),
  "gives a lock to one of several instances that request it at once, by name": requireMethod(
    "lock",
    async ({ open, createName }, first) => {
      const all = [first, await open(), await open()];
      const [one, other] = [createName(), createName()];
      const locks = await Promise.all(all.map((storage) => storage.lock?.(one)));
      assertSame(locks.filter((lock) => lock).length, 1, "the number of holders");
      for (const storage of all) assertSame(await storage.lock?.(one), undefined, "a lock that is held");
      assertSame((await first.lock?.(other)) !== undefined, true, "the lock of another name");
      await locks.find((lock) => lock)?.release();
      assertSame((await all[2]?.lock?.(one)) !== undefined, true, "the lock after its release");
    },
  ),
  "writes through a lock while it is held, and not after another instance has acquired it": requireMethod(
    "lock",
    async ({ open, createName }, first) => {
      const [second, lockName, collection] = [await open(), createName(), createName()];
      const lock = await first.lock?.(lockName);
      await lock?.write(collection, createRecords({ a: "first" }));
      assertSame(await second.read(collection), createRecords({ a: "first" }), "the record");
      await lock?.release();
      await lock?.release();
      const next = await second.lock?.(lockName);
      await next?.write(collection, createRecords({ a: "second" }));
      await expectRejection(
        Promise.resolve(lock?.write(collection, createRecords({ a: "late" }))),
        "a late write",
      );
      assertSame(await second.read(collection), createRecords({ a: "second" }), "the record of the holder");
    },
  ),
};

/** Creates a case that is skipped if the storage does not have the method. */
function requireMethod(
  method: "broadcast" | "clear" | "lock",
  check: (context: CaseContext, storage: RecordStorage) => Promise<unknown>,
): Cases[string] {
  return async (context) => {
    const storage = await context.open();
    return storage[method] ? await check(context, storage) : `the storage has no \`${method}\``;
  };
}

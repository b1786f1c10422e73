import { assertSame, type CaseContext, type Cases, createRecords, expectRejection } from "./case-context.js";

const UNWATCHED = "`isWatched` is false: the storage reports nothing of other instances";

/** Cases of `watch`. A storage may report the instance's own writes, too. */
export const watchCases: Cases = {
  "reports what another instance writes and removes, in this collection alone": requireWatch(
    async ({ open, name, watch }) => {
      const [mine, yours, collection] = [await open(), await open(), name()];
      await yours.write(collection, createRecords({ before: 1 }));
      const watching = watch(mine, collection);
      await yours.write(name(), createRecords({ foreign: 1 }));
      await yours.write(collection, createRecords({ a: { text: "Hello" }, b: null }));
      await watching.until("b", null);
      assertSame(watching.seen.get("a"), { text: "Hello" }, "the record");
      await yours.write(collection, createRecords({ a: undefined, b: 2 }));
      await watching.until("a", undefined);
      await watching.until("b", 2);
      assertSame(watching.seen.has("foreign"), false, "a report of another collection");
    },
  ),
  "reports to an instance that writes, too, and its own writes as they are or not at all": requireWatch(
    async ({ open, name, watch }) => {
      const [mine, yours, collection] = [await open(), await open(), name()];
      const watching = watch(mine, collection);
      await mine.write(collection, createRecords({ own: { text: "mine" } }));
      await yours.write(collection, createRecords({ a: 1 }));
      await watching.until("a", 1);
      if (watching.seen.has("own")) assertSame(watching.seen.get("own"), { text: "mine" }, "its own write");
      await yours.write(collection, createRecords({ own: "theirs" }));
      await watching.until("own", "theirs");
    },
  ),
  "reports the writes of one instance in their order": requireWatch(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const watching = watch(mine, collection);
    await Promise.all(Array.from({ length: 20 }, (_, n) => yours.write(collection, createRecords({ a: n }))));
    await yours.write(collection, createRecords({ end: true }));
    await watching.until("end", true);
    assertSame(watching.seen.get("a"), 19, "the last record");
  }),
  "reports nothing of a write that it refuses": requireWatch(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const watching = watch(mine, collection);
    await expectRejection(
      yours.write(collection, createRecords({ refused: 1, b: 1n })),
      "a write without JSON",
    );
    await yours.write(collection, createRecords({ a: 1 }));
    await watching.until("a", 1);
    assertSame(watching.seen.has("refused"), false, "a report of what was refused");
  }),
  "ends the watch that is ended, also twice, and no other one": requireWatch(
    async ({ open, name, watch }) => {
      const [mine, yours, collection] = [await open(), await open(), name()];
      const [ended, other] = [watch(mine, collection), watch(mine, collection)];
      await yours.write(collection, createRecords({ a: 1 }));
      await Promise.all([ended.until("a", 1), other.until("a", 1)]);
      ended.stop();
      ended.stop();
      const reports = ended.reports();
      await yours.write(collection, createRecords({ a: 2 }));
      await other.until("a", 2);
      other.stop();
      const again = watch(mine, collection);
      await yours.write(collection, createRecords({ a: 3 }));
      await again.until("a", 3);
      assertSame(ended.reports(), reports, "reports after the end");
    },
  ),
  "gives each watcher records of its own": requireWatch(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const stop = mine.watch(collection, (changes) => {
      const record = changes.get("a") as { n: number } | undefined;
      if (record) record.n += 1;
    });
    const watching = watch(mine, collection);
    await yours.write(collection, createRecords({ a: { n: 1 } }));
    await watching.until("a", { n: 1 }).finally(stop);
  }),
};

/** Creates a case that is skipped if the storage does not report writes of other instances. */
function requireWatch(check: (context: CaseContext) => Promise<void>): Cases[string] {
  return async (context) => (context.options.isWatched === false ? UNWATCHED : await check(context));
}

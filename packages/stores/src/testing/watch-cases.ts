import { assertSame, type CaseContext, type Cases, createRecords, expectRejection } from "./case-context.js";

const UNWATCHED = "`isWatched` is false: the storage reports nothing of other instances";

/** Cases of `subscribe`. A storage may report the instance's own writes, too. */
export const watchCases: Cases = {
  "reports writes and removals of other instances, only in its collection": requireWatch(
    async ({ open, createName, watch }) => {
      const [first, second, collection] = [await open(), await open(), createName()];
      await second.write(collection, createRecords({ before: 1 }));
      const watching = watch(first, collection);
      await second.write(createName(), createRecords({ other: 1 }));
      await second.write(collection, createRecords({ a: { text: "Hello" }, b: null }));
      await watching.waitFor("b", null);
      assertSame(watching.seen.get("a"), { text: "Hello" }, "the record");
      await second.write(collection, createRecords({ a: undefined, b: 2 }));
      await watching.waitFor("a", undefined);
      await watching.waitFor("b", 2);
      assertSame(watching.seen.has("other"), false, "a report of another collection");
    },
  ),
  "reports also to an instance that writes, and its own writes unchanged or not at all": requireWatch(
    async ({ open, createName, watch }) => {
      const [first, second, collection] = [await open(), await open(), createName()];
      const watching = watch(first, collection);
      await first.write(collection, createRecords({ own: { text: "first" } }));
      await second.write(collection, createRecords({ a: 1 }));
      await watching.waitFor("a", 1);
      if (watching.seen.has("own")) assertSame(watching.seen.get("own"), { text: "first" }, "its own write");
      await second.write(collection, createRecords({ own: "theirs" }));
      await watching.waitFor("own", "theirs");
    },
  ),
  "reports the writes of one instance in their order": requireWatch(async ({ open, createName, watch }) => {
    const [first, second, collection] = [await open(), await open(), createName()];
    const watching = watch(first, collection);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => second.write(collection, createRecords({ a: n }))),
    );
    await second.write(collection, createRecords({ end: true }));
    await watching.waitFor("end", true);
    assertSame(watching.seen.get("a"), 19, "the last record");
  }),
  "reports nothing about a rejected write": requireWatch(async ({ open, createName, watch }) => {
    const [first, second, collection] = [await open(), await open(), createName()];
    const watching = watch(first, collection);
    await expectRejection(
      second.write(collection, createRecords({ rejected: 1, b: 1n })),
      "a write without JSON",
    );
    await second.write(collection, createRecords({ a: 1 }));
    await watching.waitFor("a", 1);
    assertSame(watching.seen.has("rejected"), false, "a report of the rejected write");
  }),
  "ends only the watch that is stopped, even if it is stopped twice": requireWatch(
    async ({ open, createName, watch }) => {
      const [first, second, collection] = [await open(), await open(), createName()];
      const [ended, other] = [watch(first, collection), watch(first, collection)];
      await second.write(collection, createRecords({ a: 1 }));
      await Promise.all([ended.waitFor("a", 1), other.waitFor("a", 1)]);
      ended.stop();
      ended.stop();
      const reports = ended.reports();
      await second.write(collection, createRecords({ a: 2 }));
      await other.waitFor("a", 2);
      other.stop();
      const again = watch(first, collection);
      await second.write(collection, createRecords({ a: 3 }));
      await again.waitFor("a", 3);
      assertSame(ended.reports(), reports, "reports after the end");
    },
  ),
  "gives each watcher its own copy of the records": requireWatch(async ({ open, createName, watch }) => {
    const [first, second, collection] = [await open(), await open(), createName()];
    const stop = first.subscribe(collection, (changes) => {
      const record = changes.get("a") as { n: number } | undefined;
      if (record) record.n += 1;
    });
    const watching = watch(first, collection);
    await second.write(collection, createRecords({ a: { n: 1 } }));
    await watching.waitFor("a", { n: 1 }).finally(stop);
  }),
};

/** Creates a case that is skipped if the storage does not report writes of other instances. */
function requireWatch(check: (context: CaseContext) => Promise<void>): Cases[string] {
  return async (context) => (context.options.isWatched === false ? UNWATCHED : await check(context));
}

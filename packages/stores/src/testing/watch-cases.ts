import { type Cases, recordsOf, refusalOf, same, type Tried } from "./tried-storage.js";

const UNWATCHED = "`isWatched` is false: the storage reports nothing of other instances";

/** Cases of watching. A storage may report the writes of its own instance, too. */
export const watchCases: Cases = {
  "reports what another instance writes and removes, in this collection alone": watched(
    async ({ open, name, watch }) => {
      const [mine, yours, collection] = [await open(), await open(), name()];
      await yours.write(collection, recordsOf({ before: 1 }));
      const watching = watch(mine, collection);
      await yours.write(name(), recordsOf({ foreign: 1 }));
      await yours.write(collection, recordsOf({ a: { text: "Hello" }, b: null }));
      await watching.until("b", null);
      same(watching.seen.get("a"), { text: "Hello" }, "the record");
      await yours.write(collection, recordsOf({ a: undefined, b: 2 }));
      await watching.until("a", undefined);
      await watching.until("b", 2);
      same(watching.seen.has("foreign"), false, "a report of another collection");
    },
  ),
  "reports to an instance that writes, too, and its own writes as they are or not at all": watched(
    async ({ open, name, watch }) => {
      const [mine, yours, collection] = [await open(), await open(), name()];
      const watching = watch(mine, collection);
      await mine.write(collection, recordsOf({ own: { text: "mine" } }));
      await yours.write(collection, recordsOf({ a: 1 }));
      await watching.until("a", 1);
      if (watching.seen.has("own")) same(watching.seen.get("own"), { text: "mine" }, "its own write");
      await yours.write(collection, recordsOf({ own: "theirs" }));
      await watching.until("own", "theirs");
    },
  ),
  "reports the writes of one instance in their order": watched(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const watching = watch(mine, collection);
    await Promise.all(Array.from({ length: 20 }, (_, n) => yours.write(collection, recordsOf({ a: n }))));
    await yours.write(collection, recordsOf({ end: true }));
    await watching.until("end", true);
    same(watching.seen.get("a"), 19, "the last record");
  }),
  "reports nothing of a write that it refuses": watched(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const watching = watch(mine, collection);
    await refusalOf(yours.write(collection, recordsOf({ refused: 1, b: 1n })), "a write without JSON");
    await yours.write(collection, recordsOf({ a: 1 }));
    await watching.until("a", 1);
    same(watching.seen.has("refused"), false, "a report of what was refused");
  }),
  "ends the watch that is ended, also twice, and no other one": watched(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const [ended, other] = [watch(mine, collection), watch(mine, collection)];
    await yours.write(collection, recordsOf({ a: 1 }));
    await Promise.all([ended.until("a", 1), other.until("a", 1)]);
    ended.stop();
    ended.stop();
    const reports = ended.reports();
    await yours.write(collection, recordsOf({ a: 2 }));
    await other.until("a", 2);
    other.stop();
    const again = watch(mine, collection);
    await yours.write(collection, recordsOf({ a: 3 }));
    await again.until("a", 3);
    same(ended.reports(), reports, "reports after the end");
  }),
  "gives each watcher records of its own": watched(async ({ open, name, watch }) => {
    const [mine, yours, collection] = [await open(), await open(), name()];
    const stop = mine.watch(collection, (changes) => {
      const record = changes.get("a") as { n: number } | undefined;
      if (record) record.n += 1;
    });
    const watching = watch(mine, collection);
    await yours.write(collection, recordsOf({ a: { n: 1 } }));
    await watching.until("a", { n: 1 }).finally(stop);
  }),
};

function watched(check: (tried: Tried) => Promise<void>): Cases[string] {
  return async (tried) => (tried.options.isWatched === false ? UNWATCHED : await check(tried));
}

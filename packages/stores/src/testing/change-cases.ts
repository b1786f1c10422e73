import { assertSame, createRecords, expectRejection } from "./compare.js";
import type { CaseContext, Cases } from "./contract.js";

/** Time between two broadcast records, as in a chat with a response in flight, in milliseconds. */
const BROADCAST_MS = 100;

/** Cases of `subscribe`, for a storage that reports writes of other instances. It may report the instance's own writes, too. */
const watchCases: Cases = {
  async "reports writes and removals of other instances, only in its collection"(context) {
    const { first, second, collection, createName, watch } = context;
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
  async "reports also to an instance that writes, and its own writes unchanged or not at all"(context) {
    const { first, second, collection, watch } = context;
    const watching = watch(first, collection);
    await first.write(collection, createRecords({ own: { text: "first" } }));
    await second.write(collection, createRecords({ a: 1 }));
    await watching.waitFor("a", 1);
    if (watching.seen.has("own")) assertSame(watching.seen.get("own"), { text: "first" }, "its own write");
    await second.write(collection, createRecords({ own: "theirs" }));
    await watching.waitFor("own", "theirs");
  },
  async "reports the writes of one instance in their order"({ first, second, collection, watch }) {
    const watching = watch(first, collection);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => second.write(collection, createRecords({ a: n }))),
    );
    await second.write(collection, createRecords({ end: true }));
    await watching.waitFor("end", true);
    assertSame(watching.seen.get("a"), 19, "the last record");
  },
  async "reports nothing about a rejected write"({ first, second, collection, watch }) {
    const watching = watch(first, collection);
    const changes = createRecords({ rejected: 1, b: 1n });
    await expectRejection(() => second.write(collection, changes), "a write without JSON");
    await second.write(collection, createRecords({ a: 1 }));
    await watching.waitFor("a", 1);
    assertSame(watching.seen.has("rejected"), false, "a report of the rejected write");
  },
  async "ends only the watch that is stopped, even if it is stopped twice"(context) {
    const { first, second, collection, watch } = context;
    const [ended, other] = [watch(first, collection), watch(first, collection)];
    await second.write(collection, createRecords({ a: 1 }));
    await Promise.all([ended.waitFor("a", 1), other.waitFor("a", 1)]);
    ended.stop();
    ended.stop();
    const reports = ended.countReports();
    await second.write(collection, createRecords({ a: 2 }));
    await other.waitFor("a", 2);
    other.stop();
    const again = watch(first, collection);
    await second.write(collection, createRecords({ a: 3 }));
    await again.waitFor("a", 3);
    assertSame(ended.countReports(), reports, "reports after the end");
  },
  async "gives each watcher its own copy of the records"(context) {
    const { first, second, collection, watch, callAtEnd } = context;
    const stop = first.subscribe(collection, (changes) => {
      const record = changes.get("a") as { n: number } | undefined;
      if (record) record.n += 1;
    });
    callAtEnd(stop);
    const watching = watch(first, collection);
    await second.write(collection, createRecords({ a: { n: 1 } }));
    await watching.waitFor("a", { n: 1 });
  },
  async "reports each cleared record as removed"({ first, second, createName, watch }) {
    if (!first.clear) return describeMissing("clear");
    const below = createName("/a");
    await first.write(below, createRecords({ one: 1, other: 1 }));
    const watching = watch(second, below);
    await first.clear(below.slice(0, -"/a".length));
    return Promise.all([watching.waitFor("one", undefined), watching.waitFor("other", undefined)]);
  },
};

/** Cases of methods that a storage may lack. */
const optionalCases: Cases = {
  async "clears a collection and the collections below it, and no others"(context) {
    const { first, second, createName, removeLater } = context;
    if (!first.clear) return describeMissing("clear");
    const collection = createName("_");
    const below = ["", "/", "/a", "/a/b"].map((rest) => collection + rest);
    const outside = ["s", "0", "-/a", ".", "%"].map((rest) => collection + rest);
    // names that an SQL pattern would match as well
    outside.push(`${collection.slice(0, -1)}x/a`, collection.toUpperCase(), `/${collection}`);
    for (const each of [...below, ...outside]) {
      removeLater(each);
      await first.write(each, createRecords({ a: each, b: each }));
    }
    await first.clear(collection);
    for (const each of below) assertSame(await second.read(each), new Map(), `records of ${each}`);
    for (const each of outside) assertSame((await second.read(each)).size, 2, `records of ${each}`);
    await first.clear(collection);
    await second.write(collection, createRecords({ a: "again" }));
    assertSame(await first.read(collection), createRecords({ a: "again" }), "records after the clearing");
    return undefined;
  },
  async "broadcasts records to the subscribers of other instances, and stores none"(context) {
    const { first, second, collection, watch, callAtEnd } = context;
    if (!first.broadcast) return describeMissing("broadcast");
    const watching = watch(second, collection);
    // repeated, because `broadcast` may lose records
    const send = () => first.broadcast?.(collection, createRecords({ a: { text: "Hel" } }));
    const broadcasting = setInterval(send, BROADCAST_MS);
    callAtEnd(() => clearInterval(broadcasting));
    await watching.waitFor("a", { text: "Hel" });
    clearInterval(broadcasting);
    for (const storage of [first, second])
      assertSame(await storage.read(collection), new Map(), "the stored records");
    return undefined;
  },
  async "gives a lock to one of several instances that request it at once, by name"(context) {
    const { first, second, open, createName } = context;
    if (!first.lock) return describeMissing("lock");
    const all = [first, second, await open()];
    const [one, other] = [createName(), createName()];
    const locks = await Promise.all(all.map((storage) => storage.lock?.(one)));
    assertSame(locks.filter((lock) => lock).length, 1, "the number of holders");
    for (const storage of all) assertSame(await storage.lock?.(one), undefined, "a lock that is held");
    const otherLock = await first.lock(other);
    assertSame(otherLock !== undefined, true, "the lock of another name");
    await locks.find((lock) => lock)?.release();
    const next = await all[2]?.lock?.(one);
    assertSame(next !== undefined, true, "the lock after its release");
    for (const lock of [otherLock, next]) await lock?.release();
    return undefined;
  },
  async "writes through a lock while it is held, and not after another instance has acquired it"(context) {
    const { first, second, collection, createName } = context;
    if (!first.lock) return describeMissing("lock");
    const lockName = createName();
    const lock = await first.lock(lockName);
    await lock?.write(collection, createRecords({ a: "first" }));
    assertSame(await second.read(collection), createRecords({ a: "first" }), "the record");
    await lock?.release();
    await lock?.release();
    const next = await second.lock?.(lockName);
    await next?.write(collection, createRecords({ a: "second" }));
    const writeLate = async () => lock?.write(collection, createRecords({ a: "late" }));
    await expectRejection(writeLate, "a late write");
    assertSame(await second.read(collection), createRecords({ a: "second" }), "the record of the holder");
    await next?.release();
    return undefined;
  },
};

function describeMissing(method: "broadcast" | "clear" | "lock"): string {
  return `the storage has no \`${method}\``;
}

const UNWATCHED = "`isWatched` is false: the storage reports nothing of other instances";

/** Cases of changes that other instances notice. */
export const changeCases: Cases = {
  ...Object.fromEntries(
    Object.entries(watchCases).map(([title, check]) => [
      title,
      async (context: CaseContext) => (context.options.isWatched === false ? UNWATCHED : check(context)),
    ]),
  ),
  ...optionalCases,
};

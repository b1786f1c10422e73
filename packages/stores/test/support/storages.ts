import type { RecordStorage } from "@sluice/core";
import { webStorage } from "@sluice/stores";
import { storageTests } from "@sluice/stores/testing";
import { afterEach, describe, expect, test } from "vitest";

type StorageContract = Parameters<typeof storageTests>[0];

/** Creates a Web Storage in memory, with the limit of browsers: about 5 million characters. */
export function createMapStorage() {
  const items = new Map<string, string>();
  /** The names in order, for `key(index)`; undefined after a change. */
  let names: string[] | undefined;
  let size = 0;
  const removeItem = (name: string) => {
    size -= items.has(name) ? name.length + (items.get(name)?.length ?? 0) : 0;
    if (items.delete(name)) names = undefined;
  };
  return {
    get length() {
      return items.size;
    },
    key(index: number) {
      names ??= [...items.keys()];
      return names[index] ?? null;
    },
    getItem: (name: string) => items.get(name) ?? null,
    removeItem,
    setItem(name: string, text: string) {
      const before = items.get(name);
      if (size - (before ?? "").length + text.length + (before === undefined ? name.length : 0) > 5_242_880)
        throw new DOMException("no room", "QuotaExceededError");
      removeItem(name);
      items.set(name, text);
      names = undefined;
      size += name.length + text.length;
    },
  };
}

/** Throws like a browser that refuses its Web Storage. */
const throwRefusal = () => {
  throw new DOMException("denied", "SecurityError");
};

/** Creates records by key. */
export const records = (object: Record<string, unknown>) => new Map(Object.entries(object));

/** Watches a collection: `seen` has the changes so far, and `next` waits for the next change. */
export function watchAll(storage: RecordStorage, collection: string) {
  const { readable, writable } = new TransformStream<unknown, unknown>(undefined, { highWaterMark: 100 });
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const seen: unknown[] = [];
  const stop = storage.subscribe(collection, (changes) => {
    seen.push([...changes]);
    void writer.write([...changes]);
  });
  return { seen, stop, next: async () => (await reader.read()).value };
}

/** A truncated record, which is not JSON. */
export const TRUNCATED_JSON = '{"text":"Hel';

/*
 * Parts of the titles of contract cases, by the feature that a case tests. Give them to `testContract` for a storage
 * without the feature.
 */

/** Cases of storages that have locks. */
export const LOCK_CASES = ["lock"];
/** Cases of storages that report changes of other tabs or processes. */
const WATCH_CASES = ["reports", "watch", "broadcasts records"];
/** Cases of storages that can be out of reach. */
export const UNREACHABLE_CASES = ["can't be reached"];

/** Defines the tests of the storage contract. Leaves out cases whose title contains one of `without`. */
export function testContract(
  name: string,
  contract: () => StorageContract,
  without: readonly string[] = [],
): void {
  describe(`The contract in ${name}`, () => {
    const cases = storageTests({ deadlineMs: 30_000, ...contract() });
    const applies = ({ title }: { readonly title: string }) => !without.some((word) => title.includes(word));
    const skip = (reason: string) => {
      throw new Error(`The case tries nothing, as ${reason}: leave it out by a word of its title.`);
    };
    test.for(cases.filter(applies))("$title", ({ run }) => run({ skip }));

    test("Operations are executed in order, awaited or not", async () => {
      const storage = await contract().create();
      void storage.write("chat", records({ a: 1 }));
      void storage.write("chat", records({ a: 2, b: 2 }));
      expect(await storage.read("chat")).toEqual(records({ a: 2, b: 2 }));
    });

    test("The error of a record without JSON names the record", async () => {
      const storage = await contract().create();
      await expect(storage.write("chat", records({ b: () => {} }))).rejects.toThrow("b: a record needs JSON");
    });
  });
}

/** Defines the tests of `webStorage` over an area, which is empty before and after each test. */
export function testWebStorage(area: Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">) {
  const itemNames = () => Array.from({ length: area.length }, (_, index) => area.key(index) ?? "");

  afterEach(() => {
    for (const name of itemNames()) area.removeItem(name);
  });

  testContract(
    "webStorage",
    () => ({
      create: () => webStorage(() => area),
      createUnreachable: () => webStorage(throwRefusal),
      damage: (collection, key) =>
        area.setItem(JSON.stringify(["sluice", 1, collection]) + key, TRUNCATED_JSON),
      // only other pages cause reports
      isWatched: false,
    }),
    [...WATCH_CASES, ...LOCK_CASES],
  );

  describe("webStorage", () => {
    const storage = webStorage(area);

    test("names its items by prefix, version, collection and key, and holds them as JSON", async () => {
      await storage.write("chat", records({ a: { text: "Hello" } }));
      expect(itemNames()).toEqual(['["sluice",1,"chat"]a']);
      expect(area.getItem('["sluice",1,"chat"]a')).toBe('{"text":"Hello"}');
    });

    test("ignores damaged items and items of another version", async () => {
      await storage.write("chat", records({ good: 1 }));
      area.setItem('["sluice",1,"chat"]cut', '{"text":"Hel');
      area.setItem('["sluice",1,"chat"]', "");
      area.setItem('["sluice",2,"chat"]new', "2");
      expect(await storage.read("chat")).toEqual(records({ good: 1 }));
    });

    test("reads and changes only its own items", async () => {
      area.setItem("token", "secret");
      area.setItem("a", "1");
      area.setItem('a ["sluice",1,"chat"]a', "1");
      const other = webStorage(area, { prefix: "other" });
      await other.write("chat", records({ a: "other's" }));
      await storage.write("chat", records({ a: "mine" }));
      await storage.write("chat", records({ a: undefined, token: undefined }));
      expect((await storage.read("chat")).size).toBe(0);
      expect(await other.read("chat")).toEqual(records({ a: "other's" }));
      expect([area.getItem("token"), area.getItem("a")]).toEqual(["secret", "1"]);
    });

    test("writes nothing if there is too little space, and keeps the old records", async () => {
      const megabyte = "x".repeat(1_000_000);
      const before = records({ shrinks: megabyte.repeat(3), goes: megabyte, stays: "as it was" });
      await storage.write("chat", before);
      const changes = records({
        new: "new",
        shrinks: "small",
        goes: undefined,
        stays: megabyte.repeat(4),
        tooMuch: megabyte.repeat(3),
      });
      await expect(storage.write("chat", changes)).rejects.toMatchObject({ name: "QuotaExceededError" });
      expect(await storage.read("chat")).toEqual(before);
    });

    test("rejects if the page may not use it, and reports nothing", async () => {
      const unreachable = webStorage(throwRefusal);
      await expect(unreachable.read("chat")).rejects.toMatchObject({ name: "SecurityError" });
      await expect(unreachable.write("chat", records({ a: 1 }))).rejects.toMatchObject({
        name: "SecurityError",
      });
      unreachable.subscribe("chat", () => {})();
    });
  });
}

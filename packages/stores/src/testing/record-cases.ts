import { assertSame, createRecords, expectRejection } from "./compare.js";
import { type Cases, splitList } from "./contract.js";

/** Texts that a storage may confuse with other texts. */
const TEXTS = [
  ...["", "a", "A", "a/b", "a/", "/", "..", "a b", "%", "_", "\\", "'", '"', '"]', '",', "]", "null"],
  ...["__proto__", "constructor", "\n", "\0", "é 👋", "\ud800", "\udc00", "x".repeat(300)],
];

/** Values with JSON, each with the value that a read returns. */
const VALUES: readonly (readonly [value: unknown, read: unknown])[] = [
  ...["", "null", '{"a":1}', "\0", "é 👋", "\ud800", "x".repeat(100_000), 0, -1.5, 1e300, true, false, null],
  ...[[], {}, [[1, null, { deep: [true] }]], JSON.parse('{"__proto__":1,"constructor":2}')],
].map((value) => [value, value]);
const CONVERTED_VALUES: typeof VALUES = [
  [
    { at: new Date(0), gone: undefined, map: new Map([[1, 2]]), nan: Number.NaN },
    { at: "1970-01-01T00:00:00.000Z", map: {}, nan: null },
  ],
  [
    [undefined, () => {}],
    [null, null],
  ],
];

/** Values without JSON. */
const circle: { self?: unknown } = {};
circle.self = circle;
const WITHOUT_JSON = [1n, circle, () => {}, Symbol("s"), { toJSON: () => undefined }];

/** Cases of reading and writing. */
export const recordCases: Cases = {
  async "returns the records of a collection to every instance"({
    first,
    second,
    collection,
    open,
    createName,
  }) {
    assertSame(await first.read(collection), new Map(), "a collection that was never written");
    await first.write(collection, createRecords({ a: { text: "Hello" }, b: 1 }));
    const expected = createRecords({ a: { text: "Hello" }, b: 1 });
    for (const storage of [first, second, await open()])
      assertSame(await storage.read(collection), expected, "the records");
    assertSame(await second.read(createName()), new Map(), "another collection");
  },
  async "changes and removes the records that a write names, and no others"(context) {
    const { first, second, collection } = context;
    const other = context.createName();
    await first.write(collection, createRecords({ a: 1, b: 1, c: 1 }));
    await first.write(other, createRecords({ a: 1 }));
    await second.write(collection, createRecords({ a: 2, b: undefined, d: 2, never: undefined }));
    await first.write(collection, new Map());
    assertSame(await first.read(collection), createRecords({ a: 2, c: 1, d: 2 }), "the records");
    assertSame(await first.read(other), createRecords({ a: 1 }), "another collection");
  },
  async "reads each value as its JSON"({ first, second, collection }) {
    const values = [...VALUES, ...CONVERTED_VALUES];
    await first.write(collection, new Map(values.map(([value], nth) => [`${nth}`, value])));
    const read = await second.read(collection);
    for (const [nth, [, expected]] of values.entries())
      assertSame(read.get(`${nth}`), expected, `value ${nth}`);
  },
  async "accepts any text as a key and as a collection"({ first, second, collection, createName }) {
    await first.write(collection, new Map(TEXTS.map((key) => [key, { key }])));
    assertSame(await second.read(collection), new Map(TEXTS.map((key) => [key, { key }])), "the keys");
    const key = createName();
    try {
      for (const text of TEXTS) await first.write(text, new Map([[key, text]]));
      for (const text of TEXTS) {
        const record = (await second.read(text)).get(key);
        assertSame(record, text, `the record in the collection ${JSON.stringify(text)}`);
      }
    } finally {
      // the collections may have other records
      for (const text of TEXTS) await first.write(text, new Map([[key, undefined]]));
    }
  },
  async "stores a record as it was at the call, and returns copies"({ first, second, collection }) {
    const record = { text: "before" };
    const changes = createRecords({ a: record });
    const written = first.write(collection, changes);
    record.text = "after";
    changes.clear();
    await written;
    for (const storage of [first, second]) {
      const read = await storage.read(collection);
      assertSame(read, createRecords({ a: { text: "before" } }), "the record");
      (read.get("a") as typeof record).text = "changed by its reader";
    }
  },
  async "applies the writes of one instance in the order of the calls"({ first, second, collection }) {
    // at page unload, a page writes without waiting for earlier writes
    await Promise.all(
      Array.from({ length: 20 }, (_, nth) => first.write(collection, createRecords({ a: nth, [nth]: nth }))),
    );
    const read = await second.read(collection);
    assertSame([read.get("a"), read.size], [19, 21], "the last record, and the number of records");
  },
  async "rejects a record without JSON with a TypeError, and changes nothing"({ first, collection }) {
    await first.write(collection, createRecords({ a: 1, b: 1 }));
    for (const record of WITHOUT_JSON) {
      const changes = createRecords({ a: 2, b: record, c: 2 });
      const error = await expectRejection(() => first.write(collection, changes), "a write without JSON");
      assertSame((error as Error)?.name, "TypeError", `the name of the error (${error})`);
    }
    assertSame(await first.read(collection), createRecords({ a: 1, b: 1 }), "the records");
  },
  async "shows all records of a write or none to a concurrent read"({ first, second, collection }) {
    const keys = Array.from({ length: 10 }, (_, nth) => `${nth}`);
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; n < 10; n += 1) await first.write(collection, new Map(keys.map((key) => [key, n])));
    })().finally(() => {
      isWriting = false;
    });
    const reading = (async () => {
      while (isWriting) {
        const found = [...(await second.read(collection)).values()];
        const expected = keys.map(() => found[0]);
        assertSame(found, found.length > 0 ? expected : [], "records of one write");
      }
    })();
    await Promise.all([writing, reading]);
  },
  async "loses no record if several instances write at once"({ first, second, collection, open }) {
    const writers = [first, second, await open()];
    const expected = new Map<string, unknown>();
    const writing = writers.map(async (storage, writer) => {
      for (let nth = 0; nth < 10; nth += 1) {
        expected.set(`${writer} ${nth}`, nth);
        await storage.write(collection, new Map([[`${writer} ${nth}`, nth]]));
      }
    });
    await Promise.all(writing);
    for (const storage of writers) assertSame(await storage.read(collection), expected, "the records");
  },
  async "reads 10,000 records of one collection"({ first, second, collection }) {
    const all = Array.from({ length: 10_000 }, (_, nth) => [`${nth}`, { nth }] as const);
    for (const part of splitList(all)) await first.write(collection, new Map(part));
    assertSame(await second.read(collection), new Map(all), "the records");
  },
  async "ignores a damaged record, and reads the others"({ first, second, collection, options: { damage } }) {
    if (!damage) return "the option `damage` is not given";
    await first.write(collection, createRecords({ a: 1, b: 1 }));
    await damage(collection, "a");
    assertSame(await second.read(collection), createRecords({ b: 1 }), "the records");
    await second.write(collection, createRecords({ a: 2 }));
    assertSame(await first.read(collection), createRecords({ a: 2, b: 1 }), "the records after a write");
  },
  async "rejects in time if it can't be reached, and throws nothing"({ collection, options }) {
    const { createUnreachable } = options;
    if (!createUnreachable) return "the option `createUnreachable` is not given";
    const storage = await createUnreachable();
    await expectRejection(() => storage.read(collection), "read");
    await expectRejection(() => storage.write(collection, createRecords({ a: 1 })), "write");
    storage.subscribe(
      collection,
      () => {},
      () => {},
    )();
  },
};

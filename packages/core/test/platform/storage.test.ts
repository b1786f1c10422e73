import { indexedDBStorage, memoryStorage, type RecordStorage, webStorage } from "@sluice/core";
import { type StorageContract, storageContract } from "@sluice/core/testing";
import { afterEach, describe, expect, test, vi } from "vitest";

const inBrowser = typeof document !== "undefined";
const hasIndexedDB = typeof indexedDB !== "undefined";

/** Web Storage where there is none, with as much room as browsers give: about 5 million characters. */
function storageOfMap() {
  const items = new Map<string, string>();
  let names: string[] | undefined;
  let size = 0;
  const take = (name: string) => {
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
    removeItem: take,
    setItem(name: string, text: string) {
      const before = items.get(name);
      if (size - (before ?? "").length + text.length + (before === undefined ? name.length : 0) > 5_242_880)
        throw new DOMException("no room", "QuotaExceededError");
      take(name);
      items.set(name, text);
      names = undefined;
      size += name.length + text.length;
    },
  };
}

const area = inBrowser ? localStorage : storageOfMap();
const itemNames = () => Array.from({ length: area.length }, (_, index) => area.key(index) ?? "");

const newName = () => `test-${crypto.randomUUID()}`;

const denied = () => {
  throw new DOMException("denied", "SecurityError");
};

const settled = <Result>(request: IDBRequest<Result>) =>
  new Promise<Result>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** The database as somebody else opens it, who steps aside for nobody. */
const opened = (name: string, version: number) => settled(indexedDB.open(`${name}/1`, version));

async function put(name: string, place: [collection: string, key: string], value: unknown): Promise<void> {
  const database = await opened(name, 1);
  await settled(database.transaction("records", "readwrite").objectStore("records").put(value, place));
  database.close();
}

const records = (object: Record<string, unknown>) => new Map(Object.entries(object));

/** Changes that a watcher gets: `seen` so far, and `next` waits for each in turn. */
function watcherOf(storage: RecordStorage, collection: string) {
  const { readable, writable } = new TransformStream<unknown, unknown>(undefined, { highWaterMark: 100 });
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const seen: unknown[] = [];
  const stop = storage.watch(collection, (changes) => {
    seen.push([...changes]);
    void writer.write([...changes]);
  });
  return { seen, stop, next: async () => (await reader.read()).value };
}

afterEach(async () => {
  vi.restoreAllMocks();
  for (const name of itemNames()) area.removeItem(name);
  if (hasIndexedDB)
    for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name as string);
});

/** Something that is no JSON, where a storage keeps its records. */
const CUT = '{"text":"Hel';
const kinds: [kind: string, isThere: boolean, contract: () => StorageContract][] = [
  [
    "memoryStorage",
    true,
    () => {
      const storage = memoryStorage();
      return { create: () => storage };
    },
  ],
  [
    "webStorage",
    true,
    () => ({
      create: () => webStorage(() => area),
      createUnreachable: () => webStorage(denied),
      damage: (collection, key) => area.setItem(JSON.stringify(["sluice", 1, collection]) + key, CUT),
      // reports come from other pages alone
      isWatched: false,
    }),
  ],
  [
    "indexedDBStorage (only where there is IndexedDB)",
    hasIndexedDB,
    () => ({
      create: () => indexedDBStorage(),
      damage: (collection, key) => put("sluice", [collection, key], CUT),
    }),
  ],
];

describe.each(kinds)("The contract in %s", (_, isThere, contract) => {
  const cases = storageContract({ deadlineMs: 30_000, ...contract() });
  test.skipIf(!isThere).for(cases)("$title", ({ run }, context) => run(context));

  test.skipIf(!isThere)("Operations are executed in order, awaited or not", async () => {
    const storage = await contract().create();
    void storage.write("chat", records({ a: 1 }));
    void storage.write("chat", records({ a: 2, b: 2 }));
    expect(await storage.read("chat")).toEqual(records({ a: 2, b: 2 }));
  });

  test.skipIf(!isThere)("The error of a record without JSON names the record", async () => {
    const storage = await contract().create();
    await expect(storage.write("chat", records({ b: () => {} }))).rejects.toThrow("b: a record needs JSON");
  });
});

describe("memoryStorage", () => {
  test("reports its own writes, too, and none after the watch has ended", async () => {
    const storage = memoryStorage();
    const { next } = watcherOf(storage, "chat");
    await storage.write("chat", records({ a: 1 }));
    expect(await next()).toEqual([["a", 1]]);
    const late: unknown[] = [];
    const stop = storage.watch("chat", (changes) => late.push(changes));
    const written = storage.write("chat", records({ a: 2 }));
    stop();
    await written;
    expect(late).toEqual([]);
  });

  test("allows a listener to write, and keeps the records of each storage apart", async () => {
    const storage = memoryStorage();
    const stop = storage.watch("chat", (changes) => {
      if (changes.has("a")) void storage.write("chat", records({ b: 1 }));
    });
    const { next } = watcherOf(storage, "chat");
    await storage.write("chat", records({ a: 1 }));
    expect([await next(), await next()]).toEqual([[["a", 1]], [["b", 1]]]);
    expect((await memoryStorage().read("chat")).size).toBe(0);
    stop();
  });
});

describe("webStorage", () => {
  const storage = webStorage(area);

  test("names its items by prefix, version, collection and key, and holds them as JSON", async () => {
    await storage.write("chat", records({ a: { text: "Hello" } }));
    expect(itemNames()).toEqual(['["sluice",1,"chat"]a']);
    expect(area.getItem('["sluice",1,"chat"]a')).toBe('{"text":"Hello"}');
  });

  test("leaves out broken items and items of another version", async () => {
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

  test("writes nothing if there is too little room, and keeps the old records", async () => {
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

  test("rejects if it cannot be reached, and watches nothing", async () => {
    const unreachable = webStorage(denied);
    await expect(unreachable.read("chat")).rejects.toMatchObject({ name: "SecurityError" });
    await expect(unreachable.write("chat", records({ a: 1 }))).rejects.toMatchObject({
      name: "SecurityError",
    });
    unreachable.watch("chat", () => {})();
  });
});

describe.skipIf(!inBrowser)("webStorage, watching (only browsers have storage events)", () => {
  /** Another page of the same origin. */
  function otherPage(): Window {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    return frame.contentWindow as Window;
  }

  test("reports writes and removals of other pages, in its collection only", async () => {
    const page = otherPage();
    const [mine, yours] = [webStorage(() => localStorage), webStorage(() => page.localStorage)];
    const { next, stop } = watcherOf(mine, "chat");
    await mine.write("chat", records({ a: "my own" }));
    await yours.write("task", records({ a: 1 }));
    page.localStorage.setItem("token", "secret");
    page.localStorage.setItem('["sluice",1,"chat"]a', "{garbage");
    await yours.write("chat", records({ a: { text: "Hello" } }));
    await yours.write("chat", records({ a: undefined }));
    expect(await next()).toEqual([["a", { text: "Hello" }]]);
    expect(await next()).toEqual([["a", undefined]]);
    stop();
  });

  test("ends only for the caller who ends it", async () => {
    const yours = webStorage(otherPage().localStorage);
    const [stopped, open] = [
      watcherOf(webStorage(localStorage), "chat"),
      watcherOf(webStorage(localStorage), "chat"),
    ];
    stopped.stop();
    await yours.write("chat", records({ a: 1 }));
    expect(await open.next()).toEqual([["a", 1]]);
    open.stop();
    expect(stopped.seen).toEqual([]);
  });

  test("separates the two storages of a page, and ignores clear()", async () => {
    const page = otherPage();
    const [local, session] = [
      watcherOf(webStorage(localStorage), "chat"),
      watcherOf(webStorage(sessionStorage), "chat"),
    ];
    await webStorage(page.localStorage).write("chat", records({ a: "local" }));
    expect(await local.next()).toEqual([["a", "local"]]);
    await webStorage(page.sessionStorage).write("chat", records({ a: "session" }));
    page.sessionStorage.clear();
    await webStorage(page.sessionStorage).write("chat", records({ b: "session" }));
    expect([await session.next(), await session.next()]).toEqual([[["a", "session"]], [["b", "session"]]]);
    local.stop();
    session.stop();
    sessionStorage.clear();
  });
});

describe.skipIf(hasIndexedDB)("indexedDBStorage (only where there is no IndexedDB)", () => {
  test("is created, and rejects at its first use", async () => {
    const storage = indexedDBStorage();
    await expect(storage.read("chat")).rejects.toThrow("indexedDB");
    await expect(storage.write("chat", records({ a: 1 }))).rejects.toThrow("indexedDB");
  });
});

describe.skipIf(!hasIndexedDB)("indexedDBStorage (only where there is IndexedDB)", () => {
  test("stores JSON by collection and key, and leaves out broken records", async () => {
    const name = newName();
    const storage = indexedDBStorage({ name });
    await storage.write("chat", records({ a: { text: "Hello" } }));
    const database = await opened(name, 1);
    const store = database.transaction("records").objectStore("records");
    expect(await settled(store.getAllKeys())).toEqual([["chat", "a"]]);
    expect(await settled(store.getAll())).toEqual(['{"text":"Hello"}']);
    database.close();
    for (const [key, garbage] of [
      ["cut", '{"a'],
      ["object", {}],
      ["nothing", undefined],
    ] as const)
      await put(name, ["chat", key], garbage);
    expect(await storage.read("chat")).toEqual(records({ a: { text: "Hello" } }));
  });

  test("is called sluice by default", async () => {
    await indexedDBStorage().write("chat", records({ a: 1 }));
    expect((await indexedDB.databases()).map(({ name }) => name)).toContain("sluice/1");
    expect((await indexedDBStorage({ name: newName() }).read("chat")).size).toBe(0);
  });

  test("rejects while the database has a newer version, and works again after that", async () => {
    const name = newName();
    const storage = indexedDBStorage({ name });
    (await opened(name, 2)).close();
    await expect(storage.read("chat")).rejects.toMatchObject({ name: "VersionError" });
    await expect(storage.write("chat", records({ a: 1 }))).rejects.toMatchObject({ name: "VersionError" });
    await settled(indexedDB.deleteDatabase(`${name}/1`));
    await storage.write("chat", records({ a: 1 }));
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
  });

  test("closes when the database is deleted, and creates another at the next use", async () => {
    const name = newName();
    const storage = indexedDBStorage({ name });
    await storage.write("chat", records({ a: 1 }));
    await settled(indexedDB.deleteDatabase(`${name}/1`));
    expect((await storage.read("chat")).size).toBe(0);
    await storage.write("chat", records({ a: 2 }));
    expect(await storage.read("chat")).toEqual(records({ a: 2 }));
  });

  test("opens one connection, and another one after the browser has closed it", async () => {
    const open = vi.spyOn(indexedDB, "open");
    const storage = indexedDBStorage({ name: newName() });
    expect(open).not.toHaveBeenCalled();
    await Promise.all([storage.write("chat", records({ a: 1 })), storage.read("chat")]);
    expect(open).toHaveBeenCalledTimes(1);
    const connection = open.mock.results[0]?.value.result as IDBDatabase;
    connection.close();
    connection.dispatchEvent(new Event("close"));
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
    expect(open).toHaveBeenCalledTimes(2);
  });

  test("keeps the old records if the platform stops a write, and reports nothing", async () => {
    const name = newName();
    const [mine, yours] = [indexedDBStorage({ name }), indexedDBStorage({ name })];
    const { next, stop } = watcherOf(yours, "chat");
    await mine.write("chat", records({ a: 1, b: 1 }));
    vi.spyOn(IDBTransaction.prototype, "commit").mockImplementationOnce(function (this: IDBTransaction) {
      this.abort();
    });
    await expect(mine.write("chat", records({ a: 2, b: undefined, c: 2 }))).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(await mine.read("chat")).toEqual(records({ a: 1, b: 1 }));
    await mine.write("chat", records({ a: 3 }));
    expect([await next(), await next()]).toEqual([
      [
        ["a", 1],
        ["b", 1],
      ],
      [["a", 3]],
    ]);
    stop();
  });

  test("never receives its own messages, with or without a watch", async () => {
    const name = newName();
    const [mine, yours] = [indexedDBStorage({ name }), indexedDBStorage({ name })];
    const [first, second] = [watcherOf(mine, "chat"), watcherOf(mine, "chat")];
    await mine.write("chat", records({ a: "my own" }));
    await yours.write("chat", records({ a: "yours" }));
    expect(await first.next()).toEqual([["a", "yours"]]);
    expect(await second.next()).toEqual([["a", "yours"]]);
    first.stop();
    second.stop();
  });

  test("passes records to the watchers of other pages, and keeps none", async () => {
    const name = newName();
    const [mine, yours] = [indexedDBStorage({ name }), indexedDBStorage({ name })];
    const { next, stop } = watcherOf(yours, "chat");
    mine.pass?.("chat", records({ a: { text: "Hel" } }));
    expect(await next()).toEqual([["a", { text: "Hel" }]]);
    expect([...(await mine.read("chat"))]).toEqual([]);
    stop();
  });

  test("opens a channel only while there is a watch", async () => {
    const close = vi.spyOn(BroadcastChannel.prototype, "close");
    const post = vi.spyOn(BroadcastChannel.prototype, "postMessage");
    const storage = indexedDBStorage({ name: newName() });
    await storage.write("chat", records({ a: 1 }));
    expect(close.mock.contexts).toEqual(post.mock.contexts);
    const stops = [storage.watch("chat", () => {}), storage.watch("chat", () => {})];
    await storage.write("chat", records({ a: 2 }));
    stops[0]?.();
    stops[0]?.();
    expect(close).toHaveBeenCalledTimes(1);
    stops[1]?.();
    expect(close).toHaveBeenCalledTimes(2);
    expect(close.mock.contexts[1]).toBe(post.mock.contexts[1]);
  });

  test("works without messages if there is no BroadcastChannel", async () => {
    vi.stubGlobal("BroadcastChannel", undefined);
    const storage = indexedDBStorage({ name: newName() });
    const stop = storage.watch("chat", () => {});
    await storage.write("chat", records({ a: 1 }));
    stop();
    vi.unstubAllGlobals();
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
  });
});

import { indexedDBStorage, webStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  LOCK_CASES,
  records,
  TRUNCATED_JSON,
  testContract,
  testWebStorage,
  UNREACHABLE_CASES,
  watchAll,
} from "../support/storages.js";

const newName = () => `test-${crypto.randomUUID()}`;

const settled = <Result>(request: IDBRequest<Result>) =>
  new Promise<Result>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Opens the database directly, and never closes it for another page. */
const opened = (name: string, version: number) => settled(indexedDB.open(`${name}/1`, version));

async function put(name: string, location: [collection: string, key: string], value: unknown): Promise<void> {
  const database = await opened(name, 1);
  await settled(database.transaction("records", "readwrite").objectStore("records").put(value, location));
  database.close();
}

afterEach(async () => {
  vi.restoreAllMocks();
  for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name as string);
});

testWebStorage(localStorage);
testContract(
  "indexedDBStorage",
  () => ({
    create: () => indexedDBStorage(),
    damage: (collection, key) => put("sluice", [collection, key], TRUNCATED_JSON),
  }),
  [...UNREACHABLE_CASES, ...LOCK_CASES],
);

describe("webStorage, watching", () => {
  /** Opens another page of the same origin. */
  function otherPage(): Window {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    return frame.contentWindow as Window;
  }

  test("reports writes and removals of other pages, in its collection only", async () => {
    const page = otherPage();
    const [mine, yours] = [webStorage(() => localStorage), webStorage(() => page.localStorage)];
    const { next, stop } = watchAll(mine, "chat");
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

  test("ends only for the caller that ends it", async () => {
    const yours = webStorage(otherPage().localStorage);
    const [stopped, open] = [
      watchAll(webStorage(localStorage), "chat"),
      watchAll(webStorage(localStorage), "chat"),
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
      watchAll(webStorage(localStorage), "chat"),
      watchAll(webStorage(sessionStorage), "chat"),
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

describe("indexedDBStorage", () => {
  test("stores JSON by collection and key, and ignores damaged records", async () => {
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

  test("closes when the database is deleted, and creates it again at the next use", async () => {
    const name = newName();
    const storage = indexedDBStorage({ name });
    await storage.write("chat", records({ a: 1 }));
    await settled(indexedDB.deleteDatabase(`${name}/1`));
    expect((await storage.read("chat")).size).toBe(0);
    await storage.write("chat", records({ a: 2 }));
    expect(await storage.read("chat")).toEqual(records({ a: 2 }));
  });

  test("opens one connection, and another after the browser has closed it", async () => {
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
    const { next, stop } = watchAll(yours, "chat");
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
    const [first, second] = [watchAll(mine, "chat"), watchAll(mine, "chat")];
    await mine.write("chat", records({ a: "my own" }));
    await yours.write("chat", records({ a: "yours" }));
    expect(await first.next()).toEqual([["a", "yours"]]);
    expect(await second.next()).toEqual([["a", "yours"]]);
    first.stop();
    second.stop();
  });

  test("opens a channel only while there is a watch", async () => {
    const close = vi.spyOn(BroadcastChannel.prototype, "close");
    const post = vi.spyOn(BroadcastChannel.prototype, "postMessage");
    const storage = indexedDBStorage({ name: newName() });
    await storage.write("chat", records({ a: 1 }));
    expect(close.mock.contexts).toEqual(post.mock.contexts);
    const stops = [storage.subscribe("chat", () => {}), storage.subscribe("chat", () => {})];
    await storage.write("chat", records({ a: 2 }));
    stops[0]?.();
    stops[0]?.();
    expect(close).toHaveBeenCalledTimes(1);
    stops[1]?.();
    expect(close).toHaveBeenCalledTimes(2);
    expect(close.mock.contexts[1]).toBe(post.mock.contexts[1]);
  });

  test("works without change events if there is no BroadcastChannel", async () => {
    vi.stubGlobal("BroadcastChannel", undefined);
    const storage = indexedDBStorage({ name: newName() });
    const stop = storage.subscribe("chat", () => {});
    await storage.write("chat", records({ a: 1 }));
    stop();
    vi.unstubAllGlobals();
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
  });
});

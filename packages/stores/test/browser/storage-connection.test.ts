import { indexedDBStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { records } from "../support/storages.js";

/* Browsers close the connections of a page: in the background, when they need space, or when their database process ends. */

const newName = () => `test-${crypto.randomUUID()}`;
const settled = (request: IDBRequest) =>
  new Promise<void>((resolve, reject) => {
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });

afterEach(async () => {
  vi.restoreAllMocks();
  for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name as string);
});

/** Opens a storage with one record, and its connection. */
async function openConnection(name = newName()) {
  const open = vi.spyOn(indexedDB, "open");
  const storage = indexedDBStorage({ name });
  await storage.write("chat", records({ a: 1 }));
  const connection = open.mock.results[0]?.value.result as IDBDatabase;
  return { open, storage, connection, name };
}

/** Lets the next transaction fail as it begins. */
function refuseTransaction(error: string): void {
  vi.spyOn(IDBDatabase.prototype, "transaction").mockImplementationOnce(() => {
    throw new DOMException("Connection to Indexed Database server lost", error);
  });
}

/** Lets the next write fail at its end, with nothing stored. */
function failWrite(error: string): void {
  vi.spyOn(IDBTransaction.prototype, "commit").mockImplementationOnce(function (this: IDBTransaction) {
    Object.defineProperty(this, "error", { value: new DOMException("the disk fails", error) });
    this.objectStore("records").count().onsuccess = () => this.abort();
  });
}

const ends: Readonly<Record<string, (connection: IDBDatabase, name: string) => unknown>> = {
  "was closed without an event": (connection) => connection.close(),
  "was closed with an event": (connection) => {
    connection.close();
    connection.dispatchEvent(new Event("close"));
  },
  "was closed, and reports so later": (connection) => {
    connection.close();
    setTimeout(() => connection.dispatchEvent(new Event("close")));
  },
  "starts no transaction (InvalidStateError)": () => refuseTransaction("InvalidStateError"),
  "starts no transaction (UnknownError)": () => refuseTransaction("UnknownError"),
  "starts no transaction (NotFoundError)": () => refuseTransaction("NotFoundError"),
};

describe.for(Object.entries(ends))("an IndexedDB connection that %s", ([, end]) => {
  test("is replaced, and reads continue", async () => {
    const { storage, connection, name, open } = await openConnection();
    end(connection, name);
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
    expect(open).toHaveBeenCalledTimes(2);
  });

  test("is replaced once by several operations, in their order", async () => {
    const { storage, connection, name, open } = await openConnection();
    end(connection, name);
    await Promise.all([
      storage.write("chat", records({ a: 2, b: 2 })),
      storage.write("chat", records({ b: 3 })),
      storage.read("chat"),
    ]);
    expect(await storage.read("chat")).toEqual(records({ a: 2, b: 3 }));
    expect(open).toHaveBeenCalledTimes(2);
  });

  test("is replaced, and a removal succeeds", async () => {
    const { storage, connection, name } = await openConnection();
    end(connection, name);
    await storage.clear?.("chat");
    expect((await storage.read("chat")).size).toBe(0);
  });
});

describe("an IndexedDB connection that dies", () => {
  test("repeats a write that failed with UnknownError, once", async () => {
    const { storage, open } = await openConnection();
    failWrite("UnknownError");
    await storage.write("chat", records({ a: 2 }));
    expect(await storage.read("chat")).toEqual(records({ a: 2 }));
    expect(open).toHaveBeenCalledTimes(2);
  });

  test("rejects if the new connection fails too, and works at the next use", async () => {
    const { storage } = await openConnection();
    refuseTransaction("UnknownError");
    refuseTransaction("UnknownError");
    await expect(storage.write("chat", records({ a: 2 }))).rejects.toMatchObject({ name: "UnknownError" });
    await storage.write("chat", records({ a: 3 }));
    expect(await storage.read("chat")).toEqual(records({ a: 3 }));
  });

  test("does not repeat a write after a later write of the same record", async () => {
    const { storage } = await openConnection();
    failWrite("UnknownError");
    const writes = ["early", "late"].map((a) => storage.write("chat", records({ a })));
    expect(await Promise.allSettled(writes)).toMatchObject([
      { status: "rejected", reason: { name: "UnknownError" } },
      { status: "fulfilled" },
    ]);
    expect(await storage.read("chat")).toEqual(records({ a: "late" }));
  });

  test("does not repeat a write that does not fit", async () => {
    const { storage, open } = await openConnection();
    failWrite("QuotaExceededError");
    await expect(storage.write("chat", records({ a: 2 }))).rejects.toMatchObject({
      name: "QuotaExceededError",
    });
    expect(await storage.read("chat")).toEqual(records({ a: 1 }));
    expect(open).toHaveBeenCalledTimes(1);
  });

  test("does not block a deletion of the database, and creates it again", async () => {
    const { storage, name } = await openConnection();
    refuseTransaction("UnknownError");
    await storage.read("chat");
    await settled(indexedDB.deleteDatabase(`${name}/1`));
    await storage.write("chat", records({ a: 2 }));
    expect(await storage.read("chat")).toEqual(records({ a: 2 }));
  });
});

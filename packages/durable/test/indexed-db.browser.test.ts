import type { ObjectNamespace, ObjectState } from "@sluice/durable";
import { databaseBucket, openObjects } from "@sluice/durable/indexed-db";
import { testBucket, testKeeper } from "@sluice/durable/testing";
import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { openDatabaseKeeper } from "../src/hosts/indexed-db/database-keeper.js";
import { openStores } from "../src/hosts/indexed-db/stores.js";

/* Objects and files in IndexedDB, in a real browser. A worker that the browser ends is one whose memory is gone. */

const sqlite = await sqlite3InitModule();

afterEach(async () => {
  for (const { name = "" } of await indexedDB.databases()) indexedDB.deleteDatabase(name);
});

describe("The keeper of objects in IndexedDB", () => {
  testKeeper({ open: async (store) => openDatabaseKeeper(openStores(store)), test });
});

describe("The bucket in IndexedDB", () => {
  testBucket({ open: () => databaseBucket("bucket"), test });
});

/** Counts in a table of its own, rings once, and says how often it has done both. */
class Counter {
  readonly #state: ObjectState;
  constructor(state: ObjectState) {
    this.#state = state;
    state.storage.sql.exec("CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER)");
  }
  async fetch(request: Request): Promise<Response> {
    if (request.url.endsWith("/ring")) await this.#state.storage.setAlarm(Date.now() + 50);
    if (request.url.endsWith("/count")) this.#add("asked");
    if (request.url.endsWith("/clear")) await this.#state.storage.deleteAll();
    return Response.json(
      this.#state.storage.sql.exec("SELECT name, count FROM counts ORDER BY name").toArray(),
    );
  }
  async alarm(): Promise<void> {
    this.#add("rung");
  }
  #add(name: string): void {
    const added = "INSERT INTO counts VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1";
    this.#state.storage.sql.exec(added, name);
  }
}

/** Opens the objects of a database anew, as a worker does that the browser starts again. */
async function openCounters(database: string) {
  const objects = await openObjects({ database, sqlite, objects: { COUNTER: Counter }, env: {} });
  onTestFinished(() => objects.close(0));
  const ask = async (path: string) => {
    const namespace: ObjectNamespace = objects.env.COUNTER;
    const object = namespace.get(namespace.idFromName("one") as never);
    return (await object.fetch(new Request(`https://counter.invalid/${path}`))).json();
  };
  return { ask, close: () => objects.close(0) };
}

test("An object has its rows again in the next worker", async () => {
  const first = await openCounters("again");
  await first.ask("count");
  expect(await first.ask("count")).toEqual([{ name: "asked", count: 2 }]);
  await first.close();
  const second = await openCounters("again");
  expect(await second.ask("count")).toEqual([{ name: "asked", count: 3 }]);
});

test("An alarm that came due while no worker ran rings in the next one, once", async () => {
  const first = await openCounters("alarm");
  await first.ask("ring");
  await first.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  const second = await openCounters("alarm");
  await expect.poll(() => second.ask("look")).toEqual([{ name: "rung", count: 1 }]);
  await second.close();
  const third = await openCounters("alarm");
  expect(await third.ask("look")).toEqual([{ name: "rung", count: 1 }]);
});

test("A second worker waits until the first one has given the database up", async () => {
  const first = await openCounters("alone");
  let isOpen = false;
  const opening = openCounters("alone").then((second) => {
    isOpen = true;
    return second;
  });
  await first.ask("count");
  expect(isOpen).toBe(false);
  await first.close();
  const second = await opening;
  expect(await second.ask("look")).toEqual([{ name: "asked", count: 1 }]);
});

test("An object whose data the user has deleted begins anew", async () => {
  const first = await openCounters("deleted");
  await first.ask("count");
  await new Promise((resolve) => {
    indexedDB.deleteDatabase("deleted").onsuccess = resolve;
  });
  await first.close();
  const second = await openCounters("deleted");
  expect(await second.ask("count")).toEqual([{ name: "asked", count: 1 }]);
});

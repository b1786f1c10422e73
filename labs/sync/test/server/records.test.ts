import { afterAll, describe, expect, test } from "vitest";
import { databases, openServer, stopPostgres } from "./support/server.js";

afterAll(stopPostgres);

describe.each(databases)("Records on %s", (database) => {
  test("another device reads what a device has pushed, and then only what has changed", async () => {
    const server = await openServer(database);
    const [phone, laptop] = [server.device("ada"), server.device("ada")];
    const pushed = await phone.push("chat/a", null, [
      { record: "1", value: { text: "one" } },
      { record: "2", value: [1, null, "\u0000 \ud800"] },
    ]);
    expect(pushed.results.map(({ status }) => status)).toEqual(["stored", "stored"]);
    const first = await laptop.pull("chat/a");
    expect(first).toMatchObject({ hasMore: false, cursor: pushed.cursor });
    expect(first.changes).toEqual([
      { record: "1", version: 1, value: { text: "one" } },
      { record: "2", version: 1, value: [1, null, "\u0000 \ud800"] },
    ]);
    await phone.push("chat/a", pushed.cursor, [{ record: "1", base: 1, value: null }]);
    const second = await laptop.pull("chat/a", first.cursor);
    expect(second.changes).toEqual([{ record: "1", version: 2, value: null }]);
    expect((await laptop.pull("chat/a", second.cursor)).changes).toEqual([]);
    expect((await laptop.pull("chat/b")).changes).toEqual([]);
  });

  test("a change of an old version is a conflict, with the stored value", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const { cursor } = await device.push("list", null, [{ record: "a", value: 1 }]);
    await device.push("list", cursor, [{ record: "a", base: 1, value: 2 }]);
    const late = await device.push("list", cursor, [{ record: "a", base: 1, value: 3 }]);
    expect(late.results).toEqual([{ record: "a", status: "conflict", version: 2, value: 2 }]);
    // others have changed the collection since
    expect(late.cursor).toBeNull();
    expect(await device.readAll("list")).toEqual({ a: 2 });
  });

  test("a push may be repeated, because its response may be lost", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const changes = [
      { record: "a", value: { text: "one" } },
      { record: "b", value: null },
    ];
    const first = await device.push("list", null, changes);
    const again = await device.push("list", null, changes);
    expect(again.results).toEqual(first.results);
    expect((await device.pull("list")).cursor).toBe(first.cursor);
  });

  test("a refused record leaves no gap: the changes after it in the push are not stored", async () => {
    const server = await openServer(database);
    const [device, other] = [server.device("ada"), server.device("ada")];
    const pushed = await device.push("chat/a", null, [
      { record: "question", value: "short" },
      { record: "large", value: "x".repeat(1_048_577) },
      { record: "child of large", value: "short" },
    ]);
    expect(pushed.results).toMatchObject([
      { record: "question", status: "stored", version: 1 },
      { record: "large", status: "refused", version: 0, code: "record_too_large" },
      { record: "child of large", status: "skipped" },
    ]);
    expect(await other.readAll("chat/a")).toEqual({ question: "short" });
  });

  test("a user's quota bounds records and bytes, and a deletion gives its space back", async () => {
    const server = await openServer(database, { quota: { records: 2, bytes: 2_000 } });
    const device = server.device("ada");
    const one = await device.push("list", null, [
      { record: "a", value: "x".repeat(1_000) },
      { record: "b", value: "x".repeat(1_000) },
    ]);
    expect(one.results).toMatchObject([{ status: "stored" }, { code: "quota_exceeded" }]);
    const two = await device.push("list", one.cursor, [
      { record: "b", value: 1 },
      { record: "c", value: 1 },
    ]);
    expect(two.results).toMatchObject([{ status: "stored" }, { code: "quota_exceeded" }]);
    const three = await device.push("list", two.cursor, [
      { record: "a", base: 1, value: null },
      { record: "c", value: "x".repeat(1_000) },
    ]);
    expect(three.results).toMatchObject([{ status: "stored" }, { status: "stored" }]);
  });

  test("a pull has pages of at most 500 records and 512 KiB, and ends with the newest commit", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const large = Array.from({ length: 6 }, (_, at) => ({ record: `r${at}`, value: "x".repeat(200_000) }));
    const { cursor } = await device.push("list", null, large);
    const sizes: number[] = [];
    const seen: string[] = [];
    for (let page = await device.pull("list"); ; page = await device.pull("list", page.cursor)) {
      sizes.push(page.changes.length);
      seen.push(...page.changes.map(({ record }) => record));
      if (page.hasMore) continue;
      expect(page.cursor).toBe(cursor);
      break;
    }
    expect(sizes).toEqual([3, 3]);
    expect(seen).toEqual(large.map(({ record }) => record));
    // a push has at most 100 changes
    for (let nth = 0; nth < 501; nth += 100)
      await device.push(
        "small",
        null,
        Array.from({ length: Math.min(100, 501 - nth) }, (_, at) => ({ record: `s${nth + at}`, value: 1 })),
      );
    const first = await device.pull("small");
    expect([first.changes.length, first.hasMore]).toEqual([500, true]);
    expect((await device.pull("small", first.cursor)).changes).toHaveLength(1);
  });

  test("a pull of several pages returns changes that are written between the pages", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const large = "x".repeat(300_000);
    const { cursor } = await device.push("list", null, [
      { record: "a", value: large },
      { record: "b", value: large },
      { record: "c", value: 1 },
    ]);
    const page = await device.pull("list");
    expect(page.changes.map(({ record }) => record)).toEqual(["a", "b"]);
    await device.push("list", cursor, [{ record: "a", base: 1, value: 2 }]);
    const rest = await device.pull("list", page.cursor);
    expect(rest.changes.map(({ record, value }) => [record, value])).toEqual([
      ["c", 1],
      ["a", 2],
    ]);
    expect(await device.push("list", page.cursor, [{ record: "d", value: 1 }])).toMatchObject({
      status: 400,
      error: { code: "invalid_cursor" },
    });
  });

  test("an id that the server can't store is refused, and nothing of the push is stored", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    for (const id of ["", "x".repeat(257), "a\0b", "\ud800", 7, null]) {
      const record = id as string;
      const pushed = await device.push("list", null, [
        { record: "good", value: 1 },
        { record, value: 1 },
      ]);
      expect(pushed).toMatchObject({ status: 400, error: { code: "invalid_id" } });
      expect(await device.pull(record)).toMatchObject({ status: 400, error: { code: "invalid_id" } });
    }
    expect(await device.readAll("list")).toEqual({});
    const odd = ["..", "__proto__", "a b", "ä/🦦", "~index", "x".repeat(256)];
    await device.push(
      "..",
      null,
      odd.map((record) => ({ record, value: record })),
    );
    expect(Object.keys(await device.readAll("..")).sort()).toEqual([...odd].sort());
  });
});

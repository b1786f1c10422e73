import { afterAll, describe, expect, test } from "vitest";
import { databases, openServer, stopPostgres } from "./support/server.js";

afterAll(stopPostgres);

describe.each(databases)("Events on %s", (database) => {
  test("a device learns at once which collections another device has changed, and no value", async () => {
    const server = await openServer(database);
    const [phone, laptop] = [server.device("ada"), server.device("ada")];
    const stranger = await server.device("bob").events();
    const events = await laptop.events();
    expect(await events.next()).toEqual({ name: "changed", data: { cursor: "0.0", changes: [] } });
    const one = await phone.push("chat/a", null, [{ record: "1", value: "a secret" }]);
    const first = { changes: [{ collection: "chat/a", version: 1 }], cursor: one.cursor };
    expect(await events.next()).toEqual({ name: "changed", data: first });
    const two = await phone.push("chat/b", null, [{ record: "1", value: "a secret" }]);
    expect(await events.next()).toMatchObject({ data: { changes: [{ collection: "chat/b", version: 2 }] } });
    const three = await phone.push("chat/a", one.cursor, [{ record: "1", base: 1, value: null }]);
    expect(await events.next()).toMatchObject({ data: { changes: [{ collection: "chat/a", version: 3 }] } });
    // a device that was away gets the newest change of each collection
    const later = await laptop.events(one.cursor ?? undefined);
    expect(await later.next()).toMatchObject({
      data: {
        cursor: three.cursor,
        changes: [
          { collection: "chat/b", version: 2 },
          { collection: "chat/a", version: 3 },
        ],
      },
    });
    const now = await laptop.events();
    expect(await now.next()).toEqual({ name: "changed", data: { cursor: three.cursor, changes: [] } });
    expect(two.cursor).not.toBe(three.cursor);
    expect(await stranger.next()).toEqual({ name: "changed", data: { cursor: "0.0", changes: [] } });
  });

  test("many changed collections come in several events, the last one of which has the cursor", async () => {
    const server = await openServer(database);
    const device = server.device("ada");
    const first = await device.push("chat/first", null, [{ record: "1", value: 1 }]);
    for (let nth = 0; nth < 201; nth += 1)
      await device.push(`chat/${nth}`, null, [{ record: "1", value: 1 }]);
    const events = await device.events(first.cursor ?? undefined);
    const [one, two] = [await events.next(), await events.next()];
    expect([one?.data.changes.length, one?.data.cursor]).toEqual([200, null]);
    expect([two?.data.changes.length, typeof two?.data.cursor]).toEqual([1, "string"]);
  });
});

test("one user has at most 20 streams, and the end of a stream allows another one", async () => {
  const server = await openServer("SQLite");
  const device = server.device("ada");
  const streams = [];
  for (let nth = 0; nth < 20; nth += 1) {
    const events = await device.events();
    await events.next();
    streams.push(events);
  }
  const further = await device.events();
  expect(await further.next()).toEqual({ name: "failed", data: { code: "too_many_connections" } });
  expect(await further.next()).toBeUndefined();
  await streams[0]?.end();
  expect(await (await device.events()).next()).toMatchObject({ name: "changed" });
  expect(await (await server.device("bob").events()).next()).toMatchObject({ name: "changed" });
});

import type { ObjectNamespace } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { migrate } from "../src/hosts/postgres/schema.js";
import { newSchema, openSQL, url } from "./support/postgres.js";
import { ask, classOf, counting, type Steps, tell } from "./support/things.js";

async function open(schema: string, steps: Steps, leaseMs = 60_000, connection = {}) {
  const objects = await openObjects({
    url,
    schema,
    leaseMs,
    connection,
    env: {},
    objects: { THING: classOf(steps) },
  });
  onTestFinished(() => objects.close(0));
  return { things: objects.env.THING as ObjectNamespace, close: objects.close };
}

/** Rows of all tables. */
async function countIn(schema: string) {
  const sql = openSQL();
  const tables = ["processes", "objects", "rows"];
  const counts = tables.map((table) => sql`SELECT count(*)::int AS n FROM ${sql(schema)}.${sql(table)}`);
  const rows = await Promise.all(counts);
  return Object.fromEntries(tables.map((table, at) => [table, rows[at]?.[0]?.["n"]]));
}

test("Processes that start at the same time make the tables once", async () => {
  const schema = newSchema();
  const all = await Promise.all(Array.from({ length: 5 }, () => open(schema, counting)));
  expect(await tell(all[0]?.things as ObjectNamespace, "add")).toBe(1);
  expect(await countIn(schema)).toMatchObject({ processes: 5 });
});

test("Tables of a later version are neither read nor changed", async () => {
  const schema = newSchema();
  const sql = openSQL();
  await migrate(sql, schema);
  await sql`UPDATE ${sql(schema)}.version SET number = 1000`;
  await expect(open(schema, counting)).rejects.toThrow(/a later version of @sluice\/durable wrote it/);
});

test("A stop leaves all objects to other processes, and nothing of those that have nothing", async () => {
  const schema = newSchema();
  const first = await open(schema, {
    ...counting,
    clear: ({ storage }) => storage.deleteAll(),
  });
  expect(await tell(first.things, "add")).toBe(1);
  await tell(first.things, "read", "never written");
  for (const step of ["add", "clear"]) await tell(first.things, step, "cleared");
  await first.close();
  expect(await countIn(schema)).toEqual({ processes: 0, objects: 1, rows: 1 });
  const second = await open(schema, counting);
  expect(await tell(second.things, "add")).toBe(2);
});

test("An object that another process has is answered once that one gives it up", async () => {
  const schema = newSchema();
  const [first, second] = [await open(schema, counting), await open(schema, counting)];
  expect(await tell(first.things, "add")).toBe(1);
  const waiting = tell(second.things, "add");
  await first.close();
  expect(await waiting).toBe(2);
});

test("An alarm that a stopped process leaves behind runs in another one, which is told", async () => {
  const schema = newSchema();
  let rung = 0;
  const steps: Steps = {
    ...counting,
    set: ({ storage }) => storage.setAlarm(Date.now() + 1_500),
    alarm: () => {
      rung += 1;
    },
  };
  const second = await open(schema, steps);
  const first = await open(schema, steps);
  await tell(second.things, "add", "other");
  await tell(first.things, "set");
  await first.close();
  // its next look at the alarms would be half a minute later
  await expect.poll(() => rung, { timeout: 20_000 }).toBe(1);
});

test("Alarms are shared by processes, and each runs once", async () => {
  const schema = newSchema();
  const rung: string[] = [];
  const before = await open(schema, { set: ({ storage }) => storage.setAlarm(Date.now() + 3_600_000) });
  await Promise.all(Array.from({ length: 100 }, (_, n) => tell(before.things, "set", `object ${n}`)));
  await before.close(0);
  const sql = openSQL();
  await sql`UPDATE ${sql(schema)}.objects SET alarm = alarm - 3600000`;
  const steps = (process: string): Steps => ({ alarm: () => void rung.push(process) });
  const both = await Promise.all([open(schema, steps("first")), open(schema, steps("second"))]);
  await expect.poll(() => rung.length, { timeout: 20_000 }).toBe(100);
  await Promise.all(both.map(({ close }) => close()));
  expect(await countIn(schema)).toEqual({ processes: 0, objects: 0, rows: 0 });
  expect(rung).toHaveLength(100);
});

test("What an object answers leaves once all of it is kept, and a second process reads it", async () => {
  const schema = newSchema();
  const first = await open(schema, {
    ...counting,
    both: async ({ storage }) => {
      storage.sql.exec("CREATE TABLE bytes (id INTEGER PRIMARY KEY, bytes BLOB)");
      storage.sql.exec("INSERT INTO bytes VALUES (1, ?)", new Uint8Array(1_000_000).fill(9));
      await storage.put("key", "a\u0000b");
    },
  });
  await (await ask(first.things, "both")).text();
  await first.close();
  const second = await open(schema, {
    async both({ storage }) {
      const [row] = storage.sql.exec("SELECT bytes FROM bytes").toArray();
      return [(row?.["bytes"] as ArrayBuffer | undefined)?.byteLength, await storage.get("key")];
    },
  });
  expect(await tell(second.things, "both")).toEqual([1_000_000, "a\u0000b"]);
});

test("A lease that is too short, and a database that is not there, are refused at the start", async () => {
  await expect(open(newSchema(), counting, 999)).rejects.toThrow("leaseMs: give a whole number from 1000 up");
  const gone = { url: "postgres://127.0.0.1:1/none", env: {}, objects: {} };
  await expect(openObjects(gone)).rejects.toThrow("ECONNREFUSED");
});

test("An object that nobody asks stays for a minute, in which it needs no query, and is given up with a beat", async () => {
  const schema = newSchema();
  const queries: string[] = [];
  const debug = (_: number, query: string) => void queries.push(query);
  const callsOf = (name: string) => queries.filter((query) => query.includes(`.${name}(`)).length;
  vi.useFakeTimers({ toFake: ["setInterval", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  let opened = 0;
  const countOpened = () => {
    opened += 1;
  };
  const { things } = await open(schema, { ...counting, open: countOpened }, 6_000, { debug });
  for (let n = 0; n < 20; n += 1) await tell(things, "add", `object ${n}`);
  await vi.advanceTimersByTimeAsync(15_000);
  queries.length = 0;
  expect(await tell(things, "read", "object 0")).toBe(1);
  expect([opened, callsOf("claim"), callsOf("keep")]).toEqual([21, 0, 0]);
  const sql = openSQL();
  const owned = async () =>
    (await sql`SELECT count(owner)::int AS n FROM ${sql(schema)}.objects`)[0]?.["n"] as number;
  expect(await owned()).toBe(20);
  await vi.advanceTimersByTimeAsync(80_000);
  await expect.poll(owned, { timeout: 20_000 }).toBe(0);
  expect([callsOf("claim"), callsOf("keep"), callsOf("release")]).toEqual([0, 0, 0]);
  expect(await tell(things, "add", "object 0")).toBe(2);
  expect(callsOf("claim")).toBe(1);
});

import type { ObjectNamespace } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { newSchema, openSQL } from "./support/postgres.js";
import { type PostgresServer, startPostgres } from "./support/postgres-server.js";
import { openTCPProxy } from "./support/tcp-proxy.js";
import { ask, classOf, counting, type Steps, tell } from "./support/things.js";

// a server of their own: some of them stop it
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

/** Opens objects whose way to the server can be cut. */
async function open(steps: Steps, { schema = newSchema(), leaseMs = 60_000, connection = {} } = {}) {
  const way = await openTCPProxy(server.port);
  onTestFinished(way.close);
  const url = server.url.replace(String(server.port), String(way.port));
  const objects = await openObjects({
    url,
    schema,
    leaseMs,
    connection,
    env: {},
    objects: { THING: classOf(steps) },
  });
  onTestFinished(async () => {
    way.join();
    way.goOn();
    await objects.close(0);
  });
  const things = objects.env.THING as ObjectNamespace;
  return {
    way,
    schema,
    things,
    close: objects.close,
    tell: (step: string, name?: string) => tell(things, step, name),
  };
}

/** Lines that are logged from now on. */
function logged() {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => error.mockRestore());
  return () => error.mock.calls.map(([line]) => String(line)).join("\n");
}

/** Values that an object has in the database. */
async function storedIn(schema: string): Promise<unknown[]> {
  const rows = await openSQL(server.url)`SELECT row FROM ${openSQL(server.url)(schema)}.rows`;
  return rows.map(({ row }) => JSON.parse(row as string) as unknown);
}

test.each(["before", "after"] as const)(
  "case 183: a write whose connection is lost %s the database commits it is kept once",
  async (when) => {
    const { way, tell, schema } = await open(counting);
    expect(await tell("add")).toBe(1);
    const cut = way.cutAt(when, '"rows":[[');
    expect(await tell("add")).toBe(2);
    await cut;
    expect(await tell("add")).toBe(3);
    expect(await storedIn(schema)).toEqual([[1, 3]]);
  },
);

test("case 184: of two processes that believe they have an object, one can write, and the other answers nothing", async () => {
  const errors = logged();
  const schema = newSchema();
  const [first, second] = [await open(counting, { schema }), await open(counting, { schema })];
  expect(await first.tell("add")).toBe(1);
  // the database takes the first process for lost, and that one does not know it
  const sql = openSQL(server.url);
  await sql`UPDATE ${sql(schema)}.processes p SET lives_until = clock_timestamp() - interval '1 second'
    FROM ${sql(schema)}.objects o WHERE o.owner = p.id`;
  expect(await second.tell("add")).toBe(2);
  await expect(first.tell("add")).rejects.toThrow("another process has the object");
  expect(await second.tell("add")).toBe(3);
  expect(await storedIn(schema)).toEqual([[1, 3]]);
  expect(errors()).toContain("another process has the object");
});

test("case 185: a write that comes late, after another process took the object over, changes nothing", async () => {
  logged();
  const schema = newSchema();
  const first = await open(counting, { schema, leaseMs: 4_000 });
  const second = await open(counting, { schema });
  expect(await first.tell("add")).toBe(1);
  // the first process is cut off with a write under way; the database gets it seconds later
  first.way.hold();
  const late = first.tell("add").catch((error: unknown) => String(error));
  // the first process hears its neighbours, and can answer none of them
  await expect.poll(() => second.tell("add").catch(() => "refused"), { timeout: 40_000 }).toBe(2);
  expect(await second.tell("add")).toBe(3);
  first.way.goOn();
  expect(await late).toMatch(/Error/);
  expect(await second.tell("read")).toBe(3);
  expect(await storedIn(schema)).toEqual([[1, 3]]);
});

test("case 186: a process that can't renew its lease answers for none of its objects, and begins again with what is kept", async () => {
  const errors = logged();
  const events = { headers: { "content-type": "text/event-stream" } };
  const stream = () => new Response(new ReadableStream(), events);
  const { way, things, tell, schema } = await open({ ...counting, stream }, { leaseMs: 4_000 });
  expect(await tell("add")).toBe(1);
  expect(await tell("read")).toBe(1);
  const listening = await ask(things, "stream");
  way.cut();
  // reads need no database, as long as the lease goes on
  await expect.poll(() => tell("read").catch(() => "refused"), { timeout: 20_000 }).toBe("refused");
  await expect(listening.text()).rejects.toThrow("the object of this stream was given up");
  const sql = openSQL(server.url);
  await sql`UPDATE ${sql(schema)}.rows SET row = '[1, 10]'`;
  way.join();
  await expect.poll(() => tell("read").catch(() => "refused"), { timeout: 20_000 }).toBe(10);
  expect(errors()).toContain("the lease of this process was over; its objects begin anew");
});

test("A connection that is lost while it is made costs no answer, and no process", async () => {
  logged();
  const unheard: unknown[] = [];
  const note = (error: unknown) => void unheard.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { way, tell } = await open(counting, { connection: { max: 1 } });
  for (let nth = 0; nth < 6; nth += 1) {
    way.reset();
    way.cutNext(nth);
    expect(await tell("add")).toBe(nth + 1);
  }
  expect(unheard).toEqual([]);
});

test("A server that is restarted costs no answer", async () => {
  logged();
  const { tell, schema } = await open(counting);
  expect(await tell("add")).toBe(1);
  await server.stop();
  const waiting = [tell("add"), tell("add", "new")];
  await server.start();
  expect(await Promise.all(waiting)).toEqual([2, 1]);
  expect(await tell("add")).toBe(3);
  expect((await storedIn(schema)).sort()).toEqual([
    [1, 1],
    [1, 3],
  ]);
});

test("A database that does not come back is reported in bounded time, and works again when it is there", async () => {
  logged();
  const { way, tell } = await open(counting);
  expect(await tell("add")).toBe(1);
  way.cut();
  await expect(Promise.all([tell("add"), tell("add", "new")])).rejects.toThrow(/CONN|did not answer/);
  way.join();
  expect(await tell("add", "new")).toBeGreaterThan(0);
});

test("A network that swallows everything is given up in bounded time, and other connections are made", async () => {
  logged();
  const { way, tell } = await open(counting);
  expect(await tell("add")).toBe(1);
  way.hold();
  await expect(tell("add")).rejects.toThrow("the database did not answer within 10 s");
  way.goOn();
  expect(await tell("add", "new")).toBe(1);
});

test("A query that takes too long is refused, and the object goes on with what is kept", async () => {
  logged();
  const { tell, schema } = await open(counting);
  expect(await tell("add")).toBe(1);
  const sql = openSQL(server.url);
  await sql.unsafe(`CREATE FUNCTION "${schema}".slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON "${schema}".rows FOR EACH ROW EXECUTE FUNCTION "${schema}".slow()`);
  await expect(tell("add")).rejects.toThrow(/statement timeout|did not answer/);
  await sql.unsafe(`DROP TRIGGER slow ON "${schema}".rows`);
  expect(await tell("add")).toBe(2);
});

test("Connections that are all busy hold no request up for longer than a bounded time, and no lease", async () => {
  logged();
  const { tell, schema } = await open(counting, { leaseMs: 5_000, connection: { max: 1 } });
  for (const name of ["one", "two"]) expect(await tell("add", name)).toBe(1);
  const sql = openSQL(server.url);
  // somebody else's transaction has locked an object
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let locked: Promise<unknown> | undefined;
  await new Promise<void>((begin) => {
    locked = sql.begin(async (transaction) => {
      await transaction`SELECT FROM ${transaction(schema)}.objects WHERE name = 'one' FOR UPDATE`;
      begin();
      await ended;
    });
  });
  const results = await Promise.allSettled([tell("add", "one"), tell("add", "two"), tell("add", "three")]);
  expect(results[0]).toMatchObject({ status: "rejected" });
  end();
  await locked;
  expect(await tell("add", "one")).toBe(2);
  const processes = await sql`SELECT count(*)::int AS n FROM ${sql(schema)}.processes`;
  expect(processes).toMatchObject([{ n: 1 }]);
});

test("A write that the database refuses is not answered, and the object goes on with what is kept", async () => {
  logged();
  const { tell, schema } = await open({
    ...counting,
    // as a full disk refuses it
    fill: ({ storage: { sql } }) => void sql.exec("INSERT INTO counts VALUES (2, 1)"),
  });
  expect(await tell("add")).toBe(1);
  const sql = openSQL(server.url);
  await sql.unsafe(`CREATE FUNCTION "${schema}".full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON "${schema}".rows FOR EACH ROW WHEN (NEW.row LIKE '[2,%')
    EXECUTE FUNCTION "${schema}".full()`);
  await expect(tell("fill")).rejects.toThrow("could not extend file");
  expect(await tell("add")).toBe(2);
  expect(await storedIn(schema)).toEqual([[1, 2]]);
});

test("case 187: a process whose clock is an hour off has its objects, and alarms run in their time", async () => {
  logged();
  const schema = newSchema();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const rung: string[] = [];
  const steps = (process: string): Steps => ({
    ...counting,
    set: ({ storage }) => storage.setAlarm(Date.now() + 2_000),
    alarm: () => void rung.push(process),
  });
  const slow = await open(steps("slow"), { schema });
  await slow.tell("add");
  await slow.tell("set", "later");
  await slow.close();
  // an hour ahead of the one that set the alarm
  vi.setSystemTime(Date.now() + 3_600_000);
  const right = await open(steps("right"), { schema });
  expect(rung).toEqual([]);
  expect(await right.tell("add")).toBe(2);
  await vi.waitFor(() => expect(rung).toEqual(["right"]), { timeout: 20_000, interval: 100 });
});

const HEAD = `'{"id":"1","tables":"[]"'`;
test.each([
  ["no row", "RETURN;"],
  ["a row of nothing", "RETURN QUERY SELECT '', '', '', ''::bytea;"],
  ["a text that is no JSON", `RETURN QUERY SELECT NULL::text, NULL::text, ${HEAD}, NULL::bytea;`],
  ["JSON of another kind", "RETURN QUERY SELECT NULL::text, NULL::text, '[7]', NULL::bytea;"],
  [
    "a row that is no row of a table",
    "RETURN QUERY SELECT * FROM sense(of_binding, of_name, me, new_token); RETURN QUERY SELECT 'a', 'counts', '{', NULL::bytea;",
  ],
])(
  "A database that answers %s fails the request, and the same process goes on with the next answer",
  async (_, body) => {
    const { schema, tell, things } = await open(counting);
    const sql = openSQL(server.url);
    const quoted = `"${schema}"`;
    const parameters = "of_binding text, of_name text, me uuid, new_token uuid";
    expect(await tell("add")).toBe(1);
    await sql.unsafe(`ALTER FUNCTION ${quoted}.claim RENAME TO sense;
    CREATE FUNCTION ${quoted}.claim(${parameters})
      RETURNS TABLE (place text, table_name text, "row" text, bytes bytea) LANGUAGE plpgsql AS $$
      BEGIN ${body.replace("FROM sense", `FROM ${quoted}.sense`)} END $$`);
    for (let nth = 0; nth < 3; nth += 1) await expect(ask(things, "add", "other")).rejects.toThrow();
    await sql.unsafe(`DROP FUNCTION ${quoted}.claim; ALTER FUNCTION ${quoted}.sense RENAME TO claim`);
    expect(await tell("add", "other")).toBe(1);
    expect(await tell("add")).toBe(2);
    expect(await storedIn(schema)).toHaveLength(2);
  },
);

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import proxy, { model, rows, type SyncEnv } from "./fixture/sync-worker.js";
import { createDevice } from "./support/device.js";

const { SYNC } = env as unknown as { readonly SYNC: TestNamespace };
const open = (user: string) =>
  createDevice((request) => proxy.fetch(request, env as unknown as SyncEnv), user);

/** Creates the key of a user's rows, as the server does. */
async function createKey(user: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(user));
  return `user:${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Runs work, and returns the rows that it has read and written. */
async function measure(work: () => Promise<unknown>): Promise<{ read: number; written: number }> {
  const before = { ...rows };
  await work();
  return { read: rows.read - before.read, written: rows.written - before.written };
}

/** Stores records of other collections, commits and deletions of a user without requests. */
async function seed(user: string, count: number): Promise<void> {
  const key = await createKey(user);
  const object = SYNC.get(SYNC.idFromName(key));
  await runInDurableObject(object, (_, { storage: { sql } }) => {
    const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
    const prefix = key.slice(-8);
    sql.exec(
      `INSERT INTO sync_records (key, collection, record, version, value, bytes, turn, doc)
        ${numbers} SELECT ?, i % 1000 + 1, 'r' || i, i, CASE WHEN i % 50 = 0 THEN NULL ELSE '{"title":"a common word"}' END,
        200, NULL, CASE WHEN i % 50 = 0 THEN NULL ELSE i END FROM n`,
      key,
    );
    sql.exec(
      `INSERT INTO sync_docs (key, rowid, words) ${numbers}
        SELECT ?, i, '${prefix}common ${prefix}word' FROM n WHERE i % 50 <> 0`,
      key,
    );
    sql.exec(
      `INSERT INTO sync_collections (key, collection, id, version) ${numbers}
        SELECT ?, 'old/' || i, i, i FROM n WHERE i <= 1000`,
      key,
    );
    sql.exec(
      `INSERT INTO sync_commits (key, version, tag) ${numbers} SELECT ?, i, 'tag' FROM n WHERE i > ?`,
      key,
      count - 10_000,
    );
    sql.exec(
      "INSERT INTO sync_users (key, version, records, bytes, tombstones) VALUES (?, ?, ?, ?, ?)",
      ...[key, count, count, count * 200, Math.floor(count / 50)],
    );
    sql.exec("INSERT INTO sync_doc_ids (key, doc) VALUES ('', ?)", count);
  });
}

/** Uses the server as a device does. Returns the rows of each step. */
async function use(user: string, count: number) {
  const device = open(user);
  await device.pull("chat/new");
  await seed(user, count);
  const { cursor } = await device.pull("old/999");
  const question = { message: { role: "user", content: "a common word" }, parent: null, revision: 0 };
  let pushed = await device.push("chat/new", null, [{ record: "q0", value: question }]);
  const steps: Record<string, { read: number; written: number }> = {
    push: await measure(async () => {
      pushed = await device.push("chat/new", pushed.cursor, [{ record: "q1", value: question }]);
    }),
    "push of a conflict": await measure(() =>
      device.push("chat/new", pushed.cursor, [{ record: "q1", value: 1 }]),
    ),
    pull: await measure(() => device.pull("chat/new", pushed.cursor)),
    "pull from the start": await measure(() => device.pull("chat/new")),
    search: await measure(() => device.search("common word", { limit: 3 })),
    "search of the start of a word": await measure(() => device.search("com", { limit: 3 })),
    events: await measure(async () => {
      const events = await device.events(cursor);
      await events.next();
      await events.end();
    }),
    turn: await measure(async () => {
      model.respond("Yes.");
      await device.turn("start", { turn: "t", collection: "chat/new", question: "q1", model: "delta-5.3" });
      const events = await device.events();
      while ((await device.turn("state", { turn: "t" })).state === "running") await events.next();
      await events.end();
    }),
  };
  return steps;
}

test("each step reads and writes the same number of rows with 100,000 records as with a few", async () => {
  const few = await use("few", 2_000);
  const many = await use("many", 100_000);
  for (const [step, { read, written }] of Object.entries(many)) {
    expect
      .soft(read, `${step}: rows read, beside few ${few[step]?.read}`)
      .toBeLessThanOrEqual((few[step]?.read ?? 0) * 1.2 + 10);
    expect.soft(written, `${step}: rows written`).toBeLessThanOrEqual((few[step]?.written ?? 0) + 5);
  }
});

test("a Durable Object serves devices, and forgets nothing between them", async () => {
  const [phone, laptop] = [open("ada"), open("ada")];
  const events = await laptop.events();
  await events.next();
  const { cursor } = await phone.push("chat/a", null, [{ record: "1", value: { title: "A diary" } }]);
  expect(await events.next()).toMatchObject({
    data: { cursor, changes: [{ collection: "chat/a", version: 1 }] },
  });
  expect(await laptop.readAll("chat/a")).toEqual({ "1": { title: "A diary" } });
  expect((await laptop.search("diary")).hits).toEqual([
    { collection: "chat/a", record: "1", excerpt: "A diary" },
  ]);
  await phone.push("chat/a", cursor, [{ record: "1", base: 1, value: null }]);
  expect((await laptop.search("diary")).hits).toEqual([]);
  expect(await open("bob").readAll("chat/a")).toEqual({});
});

test("the server remembers 50,000 deletions and 10,000 commits of a user, and forgets older ones step by step", async () => {
  const device = open("old");
  await device.pull("chat/new");
  await seed("old", 30_000);
  const key = await createKey("old");
  const run = (sql: string, ...values: unknown[]) =>
    runInDurableObject(SYNC.get(SYNC.idFromName(key)), (_, { storage }) =>
      storage.sql.exec(sql, ...values).toArray(),
    );
  // as if 50,100 records had been deleted
  await run("UPDATE sync_users SET tombstones = 50100");
  await device.push("chat/new", null, [{ record: "1", value: 1 }]);
  expect(await run("SELECT tombstones FROM sync_users")).toEqual([{ tombstones: 49_900 }]);
  expect(
    await run("SELECT MIN(version) AS oldest, COUNT(*) AS count FROM sync_records WHERE value IS NULL"),
  ).toEqual([{ oldest: 50 * 201, count: 400 }]);
  expect(await run("SELECT MIN(version) AS oldest, COUNT(*) AS count FROM sync_commits")).toEqual([
    { oldest: 20_002, count: 10_000 },
  ]);
  expect(await device.pull("old/1", "20001.tag")).toMatchObject({
    status: 409,
    error: { code: "unknown_cursor" },
  });
  expect(await device.pull("old/1", "20002.tag")).toMatchObject({ status: 200 });
});

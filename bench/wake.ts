import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ObjectNamespace, ObjectState } from "@sluice/durable";
import { openObjects } from "@sluice/durable/node";
import { conversations, conversationsObject } from "@sluice/sync/server";
import { createProxy } from "@sluice/worker-proxy";
import { markdownTable, msOf, short } from "./harness.ts";

/*
 * What it costs on Node to wake the index of a user, beside a number of conversations with a text each: rows that are
 * read, the time of the first request, and that of the second one.
 *
 *     pnpm build && node bench/wake.ts
 */

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

const kept = { namespace: (env: Env) => env.CONVERSATIONS };
const Base = conversationsObject<Env>(kept);
let last: ObjectState | undefined;
class Conversations extends Base {
  constructor(state: ObjectState, env: Env) {
    super(state, env);
    last = state;
  }
}

const proxy = createProxy<Env>({
  baseURL: "https://gateway.test",
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  authenticate: () => ({ id: "ada" }),
  origins: [],
  models: ["delta-5.3"],

  plugins: [conversations<Env>(kept)],
});

const folder = mkdtempSync(join(tmpdir(), "sluice-wake-"));
const lines: string[][] = [];
for (const count of [0, 1_000, 10_000, 100_000]) lines.push(await measured(count));
rmSync(folder, { recursive: true });
console.log(markdownTable(["conversations", "rows read", "first request, ms", "second, ms"], lines));
process.exit();

async function measured(count: number): Promise<string[]> {
  const file = join(folder, `${count}.db`);
  await filled(file, count);
  const objects = openObjects({ file, env: {}, objects: { CONVERSATIONS: Conversations } });
  const ask = async () => {
    const path = "https://proxy.test/v1/conversations/~index/search?q=otter";
    const answer = await proxy.fetch(new Request(path), objects.env as Env);
    if (!answer.ok) throw new Error(await answer.text());
    await answer.text();
  };
  const first = await msOf(ask);
  const second = await msOf(ask);
  await objects.close(0);
  const database = new DatabaseSync(file);
  const rows = database
    .prepare("SELECT count(*) AS n FROM rows GROUP BY object ORDER BY n DESC LIMIT 1")
    .get();
  database.close();
  const name = count.toLocaleString("en");
  return [name, Number(rows?.["n"]).toLocaleString("en"), short(first), short(second)];
}

/** Writes a file with an index of so many conversations. */
async function filled(file: string, count: number): Promise<void> {
  const objects = openObjects({ file, env: {}, objects: { CONVERSATIONS: Conversations } });
  const list = { title: "Otters", createdAt: 1, updatedAt: 1, revision: 1 };
  const put = (key: string) =>
    proxy.fetch(
      new Request("https://proxy.test/v1/conversations/~index/records", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ device: "device-of-the-bench", changes: { [key]: { value: list, seen: 0 } } }),
      }),
      objects.env as Env,
    );
  await put("first");
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const sql = last?.storage.sql;
  if (count > 0) {
    sql?.exec(
      `${numbers} INSERT INTO records SELECT (SELECT version FROM state) + i, 't-' || i, 100, ? FROM n`,
      JSON.stringify(list),
    );
    sql?.exec(`UPDATE state SET version = version + ${count}, records = records + ${count}`);
    sql?.exec(`${numbers} INSERT INTO threads SELECT 't-' || i, 2048, 1, 1, 0 FROM n`);
    sql?.exec(
      `${numbers} INSERT INTO docs (id, key, title, text, at) SELECT 't-' || i, 'm', '', 'the otter number ' || i || ' swims in the river', 0 FROM n`,
    );
    sql?.exec("INSERT INTO search (rowid, title, text) SELECT doc, title, text FROM docs WHERE key = 'm'");
  }
  // what is written in a turn is kept with the next answer
  await put("last");
  await objects.close(0);
}

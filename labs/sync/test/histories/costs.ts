import { createHash } from "node:crypto";
import { resourceUsage } from "node:process";
import { createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { remoteStorage } from "@sluice/sync";
import { sync } from "@sluice/sync/server";
import type { ProxyPlugin } from "@sluice/worker-proxy";
import { createSyncProxy } from "../server/support/proxy.js";
import { createSQLite } from "./server.js";

/** What a user of the measurement has stored. */
export interface CostOptions {
  readonly conversations: number;
  /** Size of one conversation, in messages of about 1 kB. */
  readonly messages: number;
  /** Devices that read the change events. */
  readonly devices: number;
}

/** What one step costs. */
export interface StepCost {
  readonly step: string;
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Operations of the database, and the rows that their queries returned. */
  readonly operations: number;
  readonly rows: number;
  /** Largest number of rows that one operation returned. */
  readonly maxRows: number;
  /** Growth of the largest memory of the process, which is client and server, in MiB. */
  readonly memoryMiB: number;
}

const USER = "ada";
const LIST = "conversations";
const LONG = "chat/long";

/** Measures the steps of devices at a user who has much. */
export async function measureCosts({ conversations, messages, devices }: CostOptions) {
  const counts = { requests: 0, sentBytes: 0, receivedBytes: 0, operations: 0, rows: 0, maxRows: 0 };
  const database = await createSQLite();
  let host = database.openHost();
  createSyncProxy(host, sync());
  await host.close(0);
  await database.run(createSeed(conversations, messages).join(";\n"));
  host = database.openHost();
  const plugin = sync({ quota: { records: 1_000_000 } });
  countRows(plugin, counts);
  const proxy = createSyncProxy(host, plugin);
  let account = "";
  const costs: StepCost[] = [];
  const ended = new AbortController();

  const fetch = async (request: Request): Promise<Response> => {
    const body = request.method === "POST" ? await request.text() : "";
    const headers = new Headers(request.headers);
    headers.set("authorization", USER);
    const { method, signal } = request;
    const init = { method, headers, signal, ...(body !== "" && { body }) };
    const response = await proxy.fetch(new Request(request.url, init), {});
    counts.requests += 1;
    counts.sentBytes += Buffer.byteLength(body);
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const text = await response.text();
    counts.receivedBytes += Buffer.byteLength(text);
    return new Response(text, { status: response.status, headers: response.headers });
  };
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the protocol
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { "content-type": "application/json", ...(account && { "x-sluice-account": account }) };
    const url = `https://proxy.example/v1/sync/${path}`;
    const response = await fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(body) }));
    account ||= response.headers.get("x-sluice-account") ?? "";
    return response.json();
  };
  const measure = async <Result>(step: string, work: () => Promise<Result>): Promise<Result> => {
    (globalThis as { gc?: () => void }).gc?.();
    Object.assign(counts, {
      requests: 0,
      sentBytes: 0,
      receivedBytes: 0,
      operations: 0,
      rows: 0,
      maxRows: 0,
    });
    const before = resourceUsage().maxRSS;
    const result = await work();
    const memoryMiB = Math.round((resourceUsage().maxRSS - before) / 1024);
    costs.push({ step, ...counts, memoryMiB });
    return result;
  };
  const follow = async () => {
    const headers = { "x-sluice-account": account };
    const url = "https://proxy.example/v1/sync/events";
    const response = await fetch(new Request(url, { headers, signal: ended.signal }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    return reader;
  };
  const message = (content: string) => ({ message: { role: "user", content }, parent: null, revision: 0 });

  try {
    const { cursor } = await post("pull", { collection: "chat/c1", cursor: null });
    const readers = await Promise.all(Array.from({ length: devices }, follow));
    await measure("rename a conversation", () =>
      post("push", {
        collection: LIST,
        cursor,
        changes: [{ record: "c1", base: 2, value: { title: "Otters" } }],
      }),
    );
    await Promise.all(readers.map((reader) => reader.read()));
    await measure(`send a message, with ${devices} devices that listen`, async () => {
      const changes = [{ record: "m2", base: 0, value: message("Where to?") }];
      await post("push", { collection: "chat/c1", cursor, changes });
      await Promise.all(readers.map((reader) => reader.read()));
    });
    ended.abort();
    await measure("read the change of a list", () => post("pull", { collection: LIST, cursor }));
    await measure("open a conversation", () => post("pull", { collection: "chat/c2", cursor: null }));
    const text = await measure("search for a word of all conversations", () =>
      post("search", { text: "trip" }),
    );
    const letter = await measure("search for one letter", () => post("search", { text: "t", limit: 50 }));
    await measure("send a message to the long conversation", () =>
      post("push", {
        collection: LONG,
        cursor,
        changes: [{ record: "n", base: 0, value: message("More?") }],
      }),
    );
    await measure("read its change", () => post("pull", { collection: LONG, cursor }));
    const client = createClient({ baseURL: "https://proxy.example", user: USER, fetch, onEvent: () => {} });
    const storage = remoteStorage(client, { local: memoryStorage(), name: `costs-${Math.random()}` });
    const open = (collection: string) => async () => {
      await storage.sync(collection);
      return (await storage.read(`"${USER}"/${collection}`)).size;
    };
    const listed = await measure("first sync of a device: the list", open(LIST));
    const read = await measure("first sync of a device: the long conversation", open(LONG));
    await measure("the device writes a message", async () => {
      await storage.write(`"${USER}"/${LONG}`, new Map([["own", message("Own")]]));
      await storage.sync(LONG);
    });
    await storage.clear?.("nothing");
    const problems = findCostly(costs, devices);
    if (listed !== conversations || read !== messages + 1) problems.push(`${listed} and ${read} records`);
    if (text.hits.length !== 20) problems.push(`${text.hits.length} hits`);
    if (letter.error?.code !== "text_too_short") problems.push("a search for one letter gets a response");
    return { costs, problems };
  } finally {
    ended.abort();
    await host.close(0);
    await database.close();
  }
}

/** Finds steps whose cost depends on what is stored beside their records, or on the square of the devices. */
function findCostly(costs: readonly StepCost[], devices: number): string[] {
  return costs.flatMap(({ step, operations, maxRows }) => [
    ...(maxRows > 1_100 ? [`${step}: an operation read ${maxRows} rows`] : []),
    ...(step.includes("listen") && operations > 2 * devices + 5 ? [`${step}: ${operations} operations`] : []),
  ]);
}

/** Counts the operations, and the rows that they read. */
function countRows(
  { storage }: ProxyPlugin,
  counts: { operations: number; rows: number; maxRows: number },
): void {
  for (const operation of storage?.operations ?? []) {
    type Context = { readonly query: (...given: unknown[]) => Promise<readonly unknown[]> };
    const run = operation.run as (context: Context, input: unknown) => Promise<unknown>;
    Object.assign(operation, {
      run(context: Context, input: unknown) {
        let own = 0;
        counts.operations += 1;
        const query: Context["query"] = async (...given) => {
          const rows = await context.query(...given);
          own += rows.length;
          counts.rows += rows.length;
          counts.maxRows = Math.max(counts.maxRows, own);
          return rows;
        };
        return run({ ...context, query }, input);
      },
    });
  }
}

/** Creates the statements that store a list, conversations of one message, and a long one. */
function createSeed(conversations: number, messages: number): string[] {
  const key = `user:${createHash("sha256").update(USER).digest("hex")}`;
  const prefix = key.slice(-8);
  const count = (max: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${max})`;
  const records = "INSERT INTO sync_records (key, collection, record, version, value, bytes, turn, doc)";
  const [long, newest] = [conversations + 2, conversations + 2 + Math.ceil(messages / 100)];
  const value = (content: string, parent: string) =>
    `'{"message":{"role":"user","content":"' || ${content} || '"},"parent":' || ${parent} || ',"revision":0}'`;
  const words = `'${prefix}trip ${prefix}number'`;
  return [
    `${records} ${count(conversations)} SELECT '${key}', 1, 'c' || i, i + 1, '{"title":"Trip number ' || i || '"}',
      130, NULL, i FROM n`,
    `${records} ${count(conversations)} SELECT '${key}', i + 1, 'm1', i + 1, ${value("'Trip number ' || i", "'null'")},
      200, NULL, ${conversations} + i FROM n`,
    `${records} ${count(messages)} SELECT '${key}', ${long}, 'l' || i, ${long} + (i + 99) / 100,
      ${value(`'${"x".repeat(950)}'`, `CASE WHEN i = 1 THEN 'null' ELSE '"l' || (i - 1) || '"' END`)}, 1130, NULL, NULL FROM n`,
    `INSERT INTO sync_docs (key, rowid, words) ${count(2 * conversations)} SELECT '${key}', i, ${words} FROM n`,
    `INSERT INTO sync_doc_ids (key, doc) VALUES ('', ${2 * conversations})`,
    `INSERT INTO sync_collections (key, collection, id, version) VALUES ('${key}', '${LIST}', 1, ${conversations + 1}),
      ('${key}', '${LONG}', ${long}, ${newest})`,
    `INSERT INTO sync_collections (key, collection, id, version) ${count(conversations)}
      SELECT '${key}', 'chat/c' || i, i + 1, i + 1 FROM n`,
    `INSERT INTO sync_commits (key, version, tag) ${count(newest)} SELECT '${key}', i, 'seed' FROM n
      WHERE i > ${newest - 10_000}`,
    `INSERT INTO sync_users (key, version, records, bytes, tombstones) VALUES
      ('${key}', ${newest}, ${2 * conversations + messages}, ${330 * conversations + 1130 * messages}, 0)`,
  ];
}

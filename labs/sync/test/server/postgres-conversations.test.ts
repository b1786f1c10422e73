import type { ObjectNamespace } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { type ConversationsOptions, conversations, conversationsObject } from "@sluice/sync/server";
import { createProxy } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { newSchema, url } from "../../../../packages/durable/test/support/postgres.js";

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

test("A write to a conversation that is in memory takes one query, and a read and a silent stream none", async () => {
  const queries: string[] = [];
  const debug = (_: number, query: string) => {
    const [, name] = /\.(\w+)\(/.exec(query) ?? [];
    // those of the process itself are the same for any number of conversations
    if (name && !["beat", "due", "leave"].includes(name)) queries.push(name);
  };
  const kept: ConversationsOptions<Env> = { namespace: (env) => env.CONVERSATIONS };
  const objects = await openObjects({
    url,
    schema: newSchema(),
    connection: { debug },
    env: {},
    objects: { CONVERSATIONS: conversationsObject(kept) },
  });
  onTestFinished(() => objects.close(0));
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
    authenticate: () => ({ id: "user-1" }),
    origins: [],
    models: ["delta-5.3"],

    plugins: [conversations(kept)],
  });
  const address = "https://proxy.example/v1/conversations/c-1";
  const write = async (key: string) => {
    const body = JSON.stringify({ device: "device-a", changes: { [key]: { value: key, seen: 0 } } });
    const headers = { "content-type": "application/json" };
    const request = new Request(`${address}/records`, { method: "POST", headers, body });
    expect((await proxy.fetch(request, objects.env)).status).toBe(200);
  };
  await write("first");
  await write("second");
  queries.length = 0;
  await write("third");
  expect(queries).toHaveLength(1);
  queries.length = 0;
  const read = await proxy.fetch(new Request(`${address}/records`), objects.env);
  expect(Object.keys(((await read.json()) as { records: object }).records)).toEqual([
    "third",
    "second",
    "first",
  ]);
  const leaving = new AbortController();
  const stream = await proxy.fetch(new Request(`${address}/follow`, { signal: leaving.signal }), objects.env);
  expect(stream.status).toBe(200);
  leaving.abort();
  expect(queries).toEqual([]);
});
